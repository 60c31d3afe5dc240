// From a document to the partition key header of its request.

import { asciiJson } from "./json";

export interface PartitionKeyDefinition {
  paths: string[];
  kind: "Hash" | "MultiHash";
  version?: number;
}

export type Item = Record<string, unknown>;

/** The values at the paths of the definition. A missing value is undefined. */
export function keyOf(item: Item, definition: PartitionKeyDefinition): unknown[] {
  return definition.paths.map((path) => valueAt(item, segmentsOf(path)));
}

/** The header of a key. A missing value is an empty object. */
export function keyHeader(key: unknown[]): string {
  return asciiJson(key.map((component) => (component === undefined ? {} : component)));
}

/** Parses a key that a person typed: one JSON value, or an array for a hierarchical key. */
export function parseKey(text: string, definition: PartitionKeyDefinition): unknown[] {
  const value = looseJson(text);
  if (definition.paths.length > 1 && Array.isArray(value)) return value;
  return [value];
}

export function segmentsOf(path: string): string[] {
  const segments: string[] = [];
  for (const match of path.matchAll(/\/(?:"((?:[^"\\]|\\.)*)"|([^/]*))/g)) {
    segments.push(match[1] ?? match[2] ?? "");
  }
  return segments;
}

export function valueAt(item: unknown, segments: string[]): unknown {
  return segments.reduce<unknown>((value, segment) => {
    if (typeof value !== "object" || value === null) return undefined;
    return (value as Record<string, unknown>)[segment];
  }, item);
}

/** Parses JSON. Any other text is a string. */
export function looseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
