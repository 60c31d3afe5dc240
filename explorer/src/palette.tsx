// Opens any screen from a part of its name.

import { computed, signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { containerNames, databases } from "./state/catalogue";
import { CONTAINER_SCREENS, type Route, go } from "./state/route";
import { toggleTheme } from "./state/theme";
import { Dialog } from "./ui/dialog";

const isOpen = signal(false);
const SHOWN_MAX = 12;

export function openPalette(): void {
  isOpen.value = true;
}

interface Choice {
  title: string;
  run: () => void;
}

const choices = computed<Choice[]>(() => {
  const to = (title: string, route: Route): Choice => ({ title, run: () => go(route) });
  return [
    to("Overview", { screen: "overview" }),
    to("Requests", { screen: "requests" }),
    { title: "Change the theme", run: toggleTheme },
    ...containerNames.value.flatMap((name) =>
      CONTAINER_SCREENS.map((screen) => to(`${name.database} › ${name.container} › ${screen}`, { screen, name })),
    ),
    ...(databases.value ?? []).map(({ id }) => to(`${id} › database`, { screen: "database", database: id })),
  ];
});

export function CommandPalette() {
  return isOpen.value ? <Palette /> : null;
}

function Palette() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const words = text.toLowerCase().split(/\s+/);
  const found = choices.value
    .filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)))
    .slice(0, SHOWN_MAX);
  const close = () => (isOpen.value = false);
  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    choice.run();
  };
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setAt((at + step + found.length) % Math.max(found.length, 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(found[at]);
    }
  };
  return (
    <Dialog title="Go to" onClose={close}>
      <input
        type="text"
        class="palette-text"
        placeholder="A container, a screen…"
        aria-label="Name of a container or screen"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-choices"
        aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        value={text}
        autofocus
        onInput={(event) => { setText(event.currentTarget.value); setAt(0); }}
        onKeyDown={keys}
      />
      <div class="palette-choices" role="listbox" id="palette-choices" aria-label="Places">
        {found.map((choice, index) => (
          <div
            key={choice.title}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === at}
            onMouseMove={() => setAt(index)}
            onClick={() => choose(choice)}
          >
            {choice.title}
          </div>
        ))}
        {found.length === 0 && <p class="empty">Nothing is called that.</p>}
      </div>
    </Dialog>
  );
}
