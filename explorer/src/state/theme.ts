// The theme: that of the system, until the person chooses one.

import { effect, signal } from "@preact/signals";

export type Theme = "dark" | "light";

const STORED = "orrery-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** The theme that the person chose in an earlier page. */
function chosen(): Theme | undefined {
  const stored = localStorage.getItem(STORED);
  return stored === "dark" || stored === "light" ? stored : undefined;
}

export const theme = signal<Theme>(chosen() ?? (system.matches ? "dark" : "light"));

system.addEventListener("change", () => (theme.value = chosen() ?? (system.matches ? "dark" : "light")));
effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});

/** Switches the theme, and stores the choice for later pages. */
export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(STORED, theme.value);
}
