// Rows of any shape as columns, and as the text of a table.

import { brief } from "../../protocol/json";
import type { Column } from "../../ui/data_grid";

const COLUMNS_MAX = 40;
const ROWS_LOOKED_AT = 500;
const SYSTEM = new Set(["_rid", "_self", "_etag", "_attachments"]);

function isObject(row: unknown): row is Record<string, unknown> {
  return typeof row === "object" && row !== null && !Array.isArray(row);
}

/** The property names, in the order of first occurrence. */
function propertyNames(rows: unknown[]): string[] {
  const names = new Set<string>();
  for (const row of rows) {
    if (isObject(row)) Object.keys(row).forEach((name) => !SYSTEM.has(name) && names.add(name));
  }
  return [...names];
}

/** A column for each name. Values that are no objects have a column of their own. */
function columnsOf(rows: unknown[], names: string[]): Column[] {
  const columns = names.map((name): Column => ({
    title: name,
    value: (row) => (isObject(row) ? row[name] : undefined),
  }));
  const plain: Column = { title: "value", value: (row) => (isObject(row) ? undefined : row) };
  return rows.every(isObject) ? columns : [plain, ...columns];
}

export interface Table {
  columns: Column[];
  /** The number of columns for which the screen has no room. */
  columnsLeft: number;
}

/** The columns for a screen. */
export function tableOf(rows: unknown[]): Table {
  const names = propertyNames(rows.slice(0, ROWS_LOOKED_AT));
  const columns = columnsOf(rows.slice(0, ROWS_LOOKED_AT), names.slice(0, COLUMNS_MAX));
  return { columns, columnsLeft: Math.max(0, names.length - COLUMNS_MAX) };
}

/** All rows with all their properties, except for system properties. */
export function csv(rows: unknown[]): string {
  const columns = columnsOf(rows, propertyNames(rows));
  const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = rows.map((row) => columns.map((column) => quoted(brief(column.value(row)))).join(","));
  return [columns.map((column) => quoted(column.title)).join(","), ...lines].join("\r\n");
}
