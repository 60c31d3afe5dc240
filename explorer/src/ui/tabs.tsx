// Tabs for the arrow keys.

import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { Icon, type IconName } from "./icon";

export interface Tab<Name extends string> {
  name: Name;
  title: ComponentChildren;
  icon?: IconName;
}

interface Props<Name extends string> {
  label: string;
  tabs: Tab<Name>[];
  chosen: Name;
  onChoose: (name: Name) => void;
  /** The content at the end of the row of tabs. */
  aside?: ComponentChildren;
  children: ComponentChildren;
}

export function Tabs<Name extends string>({ label, tabs, chosen, onChoose, aside, children }: Props<Name>) {
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const walk = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.name === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    onChoose(next.name);
    list.current?.querySelector<HTMLElement>(`#${CSS.escape(`${id}-${next.name}`)}`)?.focus();
  };
  return (
    <div class="tabs">
      <div class="tab-row">
        <div class="tab-list" role="tablist" aria-label={label} ref={list} onKeyDown={walk}>
          {tabs.map((tab) => (
            <button
              type="button"
              role="tab"
              key={tab.name}
              id={`${id}-${tab.name}`}
              aria-selected={tab.name === chosen}
              aria-controls={`${id}-panel`}
              tabIndex={tab.name === chosen ? 0 : -1}
              onClick={() => onChoose(tab.name)}
            >
              {tab.icon && <Icon name={tab.icon} />}
              {tab.title}
            </button>
          ))}
        </div>
        {aside && <div class="tab-aside">{aside}</div>}
      </div>
      <div class="tab-panel" role="tabpanel" tabIndex={0} id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`}>
        {children}
      </div>
    </div>
  );
}
