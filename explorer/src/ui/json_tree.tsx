// Values as a tree with open and closed branches. Open branches become lines of equal height, so that a
// tree of any size scrolls like a list.

import { useId, useMemo, useState } from "preact/hooks";
import { brief, isExactNumber } from "../protocol/json";
import { Icon } from "./icon";
import { VirtualList } from "./virtual_list";

interface Line {
  path: string;
  level: number;
  name: string;
  value: unknown;
  branches: number;
}

const LINE_HEIGHT = 24;
const PREVIEW_CHARACTERS = 160;

export function JsonTree({ label, values, onNearEnd }: { label: string; values: unknown[]; onNearEnd?: (() => void) | undefined }) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set(["0"]));
  const [at, setAt] = useState(0);
  const id = useId();
  const lines = useMemo(() => {
    const all: Line[] = [];
    values.forEach((value, index) => gather(all, String(index), 1, String(index), value, open));
    return all;
  }, [values, values.length, open]);
  const turn = (line: Line | undefined, wanted?: boolean) => {
    if (!line || line.branches === 0) return;
    const next = new Set(open);
    if (wanted ?? !next.has(line.path)) next.add(line.path);
    else next.delete(line.path);
    setOpen(next);
  };
  const keys = (event: KeyboardEvent) => {
    const line = lines[at];
    const isOpen = line !== undefined && open.has(line.path);
    const moves: Record<string, () => void> = {
      ArrowDown: () => setAt(Math.min(lines.length - 1, at + 1)),
      ArrowUp: () => setAt(Math.max(0, at - 1)),
      Home: () => setAt(0),
      End: () => setAt(lines.length - 1),
      ArrowRight: () => (isOpen || !line?.branches ? setAt(Math.min(lines.length - 1, at + 1)) : turn(line, true)),
      ArrowLeft: () => {
        if (isOpen) return turn(line, false);
        const parent = lines.slice(0, at).findLastIndex((other) => other.level < (line?.level ?? 1));
        if (parent >= 0) setAt(parent);
      },
      Enter: () => turn(line),
      " ": () => turn(line),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  };
  return (
    <VirtualList
      class="json-tree"
      count={lines.length}
      lineHeight={LINE_HEIGHT}
      reveal={at}
      onNearEnd={onNearEnd}
      attributes={{
        role: "tree",
        "aria-label": label,
        "aria-activedescendant": lines.length > 0 ? `${id}-${at}` : undefined,
        onKeyDown: keys,
      }}
      render={(index) => {
        const line = lines[index]!;
        return (
          <div
            key={line.path}
            id={`${id}-${index}`}
            role="treeitem"
            aria-level={line.level}
            aria-expanded={line.branches > 0 ? open.has(line.path) : undefined}
            aria-selected={index === at}
            class={`json-line level-${Math.min(line.level, 12)}${index === at ? " at" : ""}`}
            style={{ paddingLeft: `${(line.level - 1) * 18 + 8}px` }}
            onClick={() => { setAt(index); turn(line); }}
          >
            <span class={line.branches === 0 ? "twist none" : open.has(line.path) ? "twist open" : "twist"}>
              {line.branches > 0 && <Icon name="chevron" />}
            </span>
            <span class="json-name">{line.name}</span>
            <span class={`json-value ${kind(line.value)}`}>{preview(line.value)}</span>
          </div>
        );
      }}
    />
  );
}

function gather(all: Line[], path: string, level: number, name: string, value: unknown, open: ReadonlySet<string>): void {
  const entries = entriesOf(value);
  all.push({ path, level, name, value, branches: entries.length });
  if (!open.has(path)) return;
  for (const [key, inner] of entries) gather(all, `${path}/${key}`, level + 1, key, inner, open);
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === "object" && value !== null && !isExactNumber(value) ? Object.entries(value) : [];
}

function kind(value: unknown): string {
  if (value === null) return "null";
  if (isExactNumber(value)) return "number";
  return Array.isArray(value) ? "array" : typeof value;
}

function preview(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length}]  ${cut(brief(value))}`;
  return cut(typeof value === "string" ? JSON.stringify(value) : brief(value));
}

function cut(text: string): string {
  return text.length > PREVIEW_CHARACTERS ? `${text.slice(0, PREVIEW_CHARACTERS)}…` : text;
}
