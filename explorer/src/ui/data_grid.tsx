// A grid of any size for the arrow keys. Rows can be opened and marked.

import type { ComponentChildren } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import { brief, isExactNumber } from "../protocol/json";
import { VirtualList } from "./virtual_list";

/** A column of the grid. */
export interface Column {
  title: string;
  value: (row: unknown) => unknown;
  render?: (row: unknown) => ComponentChildren;
}

interface Props {
  label: string;
  columns: Column[];
  rows: unknown[];
  /** The row whose item is open beside the grid. */
  current?: number | undefined;
  onOpen?: ((index: number) => void) | undefined;
  marked?: ReadonlySet<number> | undefined;
  onMark?: ((marked: ReadonlySet<number>) => void) | undefined;
  onDelete?: (() => void) | undefined;
  onNearEnd?: (() => void) | undefined;
}

const LINE_HEIGHT = 32;
const COLUMN_WIDTH = { min: 72, max: 300, character: 7.7, padding: 24 };
/** The rows that determine the width of a column. Later rows must not move the columns. */
const ROWS_MEASURED = 60;
/** The rows that PageUp and PageDown move. */
const PAGE_LINES = 15;

export function DataGrid({ label, columns, rows, current, onOpen, marked, onMark, onDelete, onNearEnd }: Props) {
  const id = useId();
  const [at, setAt] = useState(0);
  const widths = useMemo(() => columns.map((column) => widthOf(column, rows)), [columns, rows.length > 0 && rows[0]]);
  const template = [onMark ? "40px" : "", ...widths.map((width) => `minmax(${width}px, ${width}fr)`)].join(" ");
  const width = `${widths.reduce((sum, width) => sum + width, onMark ? 40 : 0)}px`;
  const mark = (index: number) => {
    const next = new Set(marked);
    if (!next.delete(index)) next.add(index);
    onMark?.(next);
  };
  // Marks all rows from the focused row to another row, as with the Shift key.
  const markRange = (to: number) => {
    const next = new Set(marked);
    for (let index = Math.min(at, to); index <= Math.max(at, to); index++) next.add(index);
    onMark?.(next);
  };
  // The focus stays on the grid, and `aria-activedescendant` names the present row.
  const keys = (event: KeyboardEvent) => {
    const to: Record<string, number> = {
      ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + PAGE_LINES, PageUp: at - PAGE_LINES, Home: 0, End: rows.length - 1,
    };
    const next = to[event.key];
    if (next !== undefined) {
      event.preventDefault();
      const clamped = Math.max(0, Math.min(rows.length - 1, next));
      if (event.shiftKey && onMark) markRange(clamped);
      setAt(clamped);
    } else if (event.key === "Enter") onOpen?.(at);
    else if (event.key === " " && onMark) {
      event.preventDefault();
      mark(at);
    } else if (event.key === "Delete") onDelete?.();
  };
  const all = rows.length > 0 && marked?.size === rows.length;
  const head = (
    <div class="grid-head grid-row" role="row" style={{ gridTemplateColumns: template, minWidth: width }}>
      {onMark && (
        <span role="columnheader" class="grid-mark">
          <input
            type="checkbox"
            aria-label="Mark all rows"
            checked={all}
            onChange={() => onMark(all ? new Set() : new Set(rows.keys()))}
          />
        </span>
      )}
      {columns.map((column) => <span role="columnheader" key={column.title} title={column.title}>{column.title}</span>)}
    </div>
  );
  return (
    <VirtualList
      class="grid"
      count={rows.length}
      lineHeight={LINE_HEIGHT}
      reveal={at}
      head={head}
      headHeight={LINE_HEIGHT}
      onNearEnd={onNearEnd}
      attributes={{
        role: "grid",
        "aria-label": label,
        "aria-rowcount": rows.length + 1,
        "aria-multiselectable": onMark ? "true" : undefined,
        "aria-activedescendant": rows.length > 0 ? `${id}-${at}` : undefined,
        onKeyDown: keys,
      }}
      render={(index) => (
        <div
          key={index}
          id={`${id}-${index}`}
          role="row"
          aria-rowindex={index + 2}
          aria-selected={marked?.has(index) ?? index === current}
          class={["grid-row", index === at && "at", index === current && "current", marked?.has(index) && "marked"].filter(Boolean).join(" ")}
          style={{ gridTemplateColumns: template, minWidth: width }}
          onClick={(event) => {
            if (event.shiftKey && onMark) markRange(index);
            else if (event.ctrlKey || event.metaKey) mark(index);
            else onOpen?.(index);
            setAt(index);
          }}
        >
          {onMark && (
            <span role="gridcell" class="grid-mark">
              <input
                type="checkbox"
                tabIndex={-1}
                aria-label={`Mark row ${index + 1}`}
                checked={marked?.has(index) ?? false}
                onClick={(event) => event.stopPropagation()}
                onChange={() => mark(index)}
              />
            </span>
          )}
          {columns.map((column) => {
            const value = column.value(rows[index]);
            return (
              <span role="gridcell" key={column.title} class={`cell ${kindOf(value)}`}>
                {column.render ? column.render(rows[index]) : brief(value)}
              </span>
            );
          })}
        </div>
      )}
    />
  );
}

/** The width of a column: wide enough for most of its values. */
function widthOf(column: Column, rows: unknown[]): number {
  const lengths = rows.slice(0, ROWS_MEASURED).map((row) => brief(column.value(row)).length);
  const usual = lengths.sort((a, b) => a - b)[Math.floor(lengths.length * 0.9)] ?? 0;
  const characters = Math.max(usual, column.title.length);
  const wanted = characters * COLUMN_WIDTH.character + COLUMN_WIDTH.padding;
  return Math.round(Math.min(Math.max(wanted, COLUMN_WIDTH.min), COLUMN_WIDTH.max));
}

/** The style class for the type of a value. */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (isExactNumber(value)) return "number";
  return typeof value;
}
