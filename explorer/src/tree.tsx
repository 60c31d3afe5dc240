// Databases with their containers, walked with the arrow keys as trees are.

import { signal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { CreateContainer, CreateDatabase } from "./screens/create";
import { containers, databases, loadDatabases } from "./state/catalogue";
import { attempt } from "./state/notices";
import { type Route, go, href, route } from "./state/route";
import { Button } from "./ui/button";
import { Icon, type IconName } from "./ui/icon";

const folded = signal<ReadonlySet<string>>(new Set());

function fold(id: string, closed: boolean): void {
  const next = new Set(folded.value);
  if (closed) next.add(id);
  else next.delete(id);
  folded.value = next;
}

interface Line {
  id: string;
  level: 1 | 2;
  title: string;
  icon: IconName;
  to: Route;
  open?: boolean;
}

function lines(): Line[] {
  return (databases.value ?? []).flatMap(({ id }): Line[] => {
    const open = !folded.value.has(id);
    const database: Line = { id: `d:${id}`, level: 1, title: id, icon: "database", to: { screen: "database", database: id }, open };
    const below = open ? containers.value.get(id) ?? [] : [];
    return [
      database,
      ...below.map((container): Line => ({
        id: `c:${id}/${container.id}`,
        level: 2,
        title: container.id,
        icon: "container",
        to: { screen: currentScreen(), name: { database: id, container: container.id } },
      })),
    ];
  });
}

/** Another container is opened on the screen that one is looking at. */
function currentScreen() {
  const at = route.value;
  return "name" in at ? at.screen : "items";
}

function isCurrent({ to }: Line): boolean {
  const at = route.value;
  if ("name" in to) return "name" in at && at.name.database === to.name.database && at.name.container === to.name.container;
  return at.screen === "database" && to.screen === "database" && at.database === to.database;
}

export function Tree() {
  const [creating, setCreating] = useState<{ database?: string } | undefined>();
  const list = useRef<HTMLDivElement>(null);
  const all = lines();
  const entry = all.find(isCurrent) ?? all[0];
  const focus = (line: Line | undefined) =>
    line && list.current?.querySelector<HTMLElement>(`[data-line="${CSS.escape(line.id)}"]`)?.focus();
  const keys = (event: KeyboardEvent, line: Line) => {
    const at = all.indexOf(line);
    const moves: Record<string, () => void> = {
      ArrowDown: () => focus(all[at + 1]),
      ArrowUp: () => focus(all[at - 1]),
      Home: () => focus(all[0]),
      End: () => focus(all.at(-1)),
      ArrowRight: () => (line.open === false ? fold(line.title, false) : focus(all[at + 1])),
      ArrowLeft: () => (line.open ? fold(line.title, true) : focus(all.slice(0, at).findLast((other) => other.level === 1))),
      Enter: () => go(line.to),
      " ": () => go(line.to),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  };
  return (
    <>
      <div class="side-head">
        <h2>Databases</h2>
        <Button icon="refresh" kind="quiet" label="Read the list again" onClick={() => void attempt(loadDatabases)} />
        <Button icon="add" kind="quiet" label="New database" onClick={() => setCreating({})} />
      </div>
      {databases.value?.length === 0 && <p class="empty">There is no database yet.</p>}
      <div role="tree" aria-label="Databases and containers" class="tree" ref={list} hidden={all.length === 0}>
        {all.map((line) => (
          <div
            key={line.id}
            role="treeitem"
            data-line={line.id}
            aria-level={line.level}
            aria-expanded={line.open}
            aria-selected={isCurrent(line)}
            tabIndex={line === entry ? 0 : -1}
            class={`tree-line level-${line.level}`}
            onClick={() => go(line.to)}
            onKeyDown={(event) => keys(event, line)}
          >
            <span
              class={line.open === undefined ? "twist none" : line.open ? "twist open" : "twist"}
              onClick={(event) => { if (line.open !== undefined) { event.stopPropagation(); fold(line.title, line.open); } }}
            >
              {line.open !== undefined && <Icon name="chevron" />}
            </span>
            <Icon name={line.icon} />
            <span class="tree-title">{line.title}</span>
          </div>
        ))}
      </div>
      <div class="side-actions">
        {route.value.screen !== "overview" && route.value.screen !== "requests" && (
          <Button icon="add" onClick={() => setCreating({ database: currentDatabase() })}>New container</Button>
        )}
        <a class="button quiet" href={href({ screen: "requests" })}>
          <Icon name="log" />
          <span>Live requests</span>
        </a>
      </div>
      {creating && (creating.database
        ? <CreateContainer database={creating.database} onClose={() => setCreating(undefined)} />
        : <CreateDatabase onClose={() => setCreating(undefined)} />)}
    </>
  );
}

function currentDatabase(): string {
  const at = route.value;
  return "name" in at ? at.name.database : at.screen === "database" ? at.database : "";
}
