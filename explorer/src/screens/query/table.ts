// Rows of any shape as columns, and as text of a table.

import { brief } from "../../protocol/json";
import type { Column } from "../../ui/data_grid";

const COLUMNS_MAX = 40;
const ROWS_LOOKED_AT = 500;
const SYSTEM = new Set(["_rid", "_self", "_etag", "_attachments"]);

function isObject(row: unknown): row is Record<string, unknown> {
  return typeof row === "object" && row !== null && !Array.isArray(row);
}

/** Properties in the order in which they are met; values that are no objects are a column of their own. */
export function tableColumns(rows: unknown[]): Column[] {
  const names = new Set<string>();
  let plain = false;
  for (const row of rows.slice(0, ROWS_LOOKED_AT)) {
    if (!isObject(row)) plain = true;
    else Object.keys(row).forEach((name) => !SYSTEM.has(name) && names.add(name));
  }
  const columns = [...names].slice(0, COLUMNS_MAX).map((name): Column => ({
    title: name,
    value: (row) => (isObject(row) ? row[name] : undefined),
  }));
  return plain ? [{ title: "value", value: (row) => (isObject(row) ? undefined : row) }, ...columns] : columns;
}

export function csv(rows: unknown[]): string {
  const columns = tableColumns(rows);
  const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = rows.map((row) => columns.map((column) => quoted(brief(column.value(row)))).join(","));
  return [columns.map((column) => quoted(column.title)).join(","), ...lines].join("\r\n");
}
