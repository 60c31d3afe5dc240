// The button that switches between dark and light.

import { theme, toggleTheme } from "../state/theme";
import { Button } from "./button";

export function ThemeButton() {
  const isDark = theme.value === "dark";
  return <Button icon={isDark ? "sun" : "moon"} kind="quiet" label={isDark ? "Light theme" : "Dark theme"} onClick={toggleTheme} />;
}
