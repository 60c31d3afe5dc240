// The databases and their containers as a tree for the arrow keys.

import { signal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import type { ContainerName } from "./protocol/catalogue";
import { CreateContainer, CreateDatabase } from "./screens/create";
import { containers, databases, loadDatabases, loadScripts, scriptsOf } from "./state/catalogue";
import { attempt } from "./state/notices";
import { CONTAINER_SCREENS, type ContainerScreen, type Route, go, href, route } from "./state/route";
import { Button } from "./ui/button";
import { Icon, type IconName } from "./ui/icon";

/** The lines that the person toggled. By default databases are open and containers closed. */
const turned = signal<ReadonlySet<string>>(new Set());

const SCREENS: Record<ContainerScreen, { title: string; icon: IconName }> = {
  items: { title: "Items", icon: "items" },
  query: { title: "Query", icon: "query" },
  scripts: { title: "Scripts", icon: "scripts" },
  partitions: { title: "Partitions", icon: "partitions" },
  settings: { title: "Settings", icon: "settings" },
};

interface Line {
  id: string;
  level: 1 | 2 | 3 | 4;
  title: string;
  icon: IconName;
  to: Route;
  open?: boolean;
  /** Runs when the line is opened. */
  load?: () => void;
}

function lines(): Line[] {
  return (databases.value ?? []).flatMap(({ id }): Line[] => {
    const line: Line = { id: `d:${id}`, level: 1, title: id, icon: "database", to: { screen: "database", database: id } };
    line.open = !turned.value.has(line.id);
    if (!line.open) return [line];
    const users: Line = { id: `u:${id}`, level: 2, title: "Users", icon: "users", to: { screen: "database", database: id, part: "users" } };
    return [line, ...(containers.value.get(id) ?? []).flatMap((container) => containerLines({ database: id, container: container.id })), users];
  });
}

function containerLines(name: ContainerName): Line[] {
  const id = `c:${name.database}/${name.container}`;
  const open = turned.value.has(id);
  const line: Line = {
    id,
    level: 2,
    title: name.container,
    icon: "container",
    to: { screen: currentScreen(), name },
    open,
    load: () => void attempt(() => loadScripts(name)),
  };
  if (!open) return [line];
  const screens = CONTAINER_SCREENS.map((screen): Line => ({ id: `${id}/${screen}`, level: 3, ...SCREENS[screen], to: { screen, name } }));
  const scripts = Object.entries(scriptsOf(name) ?? {}).flatMap(([kind, found]) =>
    found.map((script): Line => ({
      id: `${id}/${kind}/${script.id}`,
      level: 4,
      title: script.id,
      icon: "scripts",
      to: { screen: "scripts", name, script: { kind: kind as "sprocs", id: script.id } },
    })),
  );
  return [line, ...screens.flatMap((screen) => (screen.id.endsWith("/scripts") ? [screen, ...scripts] : [screen]))];
}

function turn(line: Line): void {
  const next = new Set(turned.value);
  if (!next.delete(line.id)) next.add(line.id);
  turned.value = next;
  if (!line.open) line.load?.();
}

/** The present tab, on which another container opens. */
function currentScreen(): ContainerScreen {
  const at = route.value;
  return "name" in at ? at.screen : "items";
}

/** The line of the present screen. A closed container stands for the lines below it. */
function currentLine(all: Line[]): Line | undefined {
  const here = location.hash && href(route.value);
  const exact = all.findLast((line) => href(line.to) === here && line.open !== true);
  return exact ?? all.find((line) => href(line.to) === here);
}

export function Tree() {
  const [creating, setCreating] = useState<{ database?: string } | undefined>();
  const list = useRef<HTMLDivElement>(null);
  const all = lines();
  const current = currentLine(all);
  const entry = current ?? all[0];
  const focus = (line: Line | undefined) =>
    line && list.current?.querySelector<HTMLElement>(`[data-line="${CSS.escape(line.id)}"]`)?.focus();
  const keys = (event: KeyboardEvent, line: Line) => {
    const at = all.indexOf(line);
    const moves: Record<string, () => void> = {
      ArrowDown: () => focus(all[at + 1]),
      ArrowUp: () => focus(all[at - 1]),
      Home: () => focus(all[0]),
      End: () => focus(all.at(-1)),
      ArrowRight: () => (line.open === false ? turn(line) : focus(all[at + 1])),
      ArrowLeft: () => (line.open ? turn(line) : focus(all.slice(0, at).findLast((other) => other.level < line.level))),
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
            aria-selected={line === current}
            tabIndex={line === entry ? 0 : -1}
            class={`tree-line level-${line.level}`}
            onClick={() => go(line.to)}
            onKeyDown={(event) => keys(event, line)}
          >
            <span class={line.open ? "twist open" : "twist"} onClick={(event) => { if (line.open !== undefined) { event.stopPropagation(); turn(line); } }}>
              {line.open !== undefined && <Icon name="chevron" />}
            </span>
            <Icon name={line.icon} />
            <span class="tree-title">{line.title}</span>
          </div>
        ))}
      </div>
      <div class="side-actions">
        {currentDatabase() && <Button icon="add" onClick={() => setCreating({ database: currentDatabase() })}>New container</Button>}
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
