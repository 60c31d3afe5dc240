// The properties of the items of a container, learned from a sample of items.

import type { ContainerName } from "../protocol/catalogue";
import { queryPage } from "../protocol/query";

/** The property names below a path. Elements of an array are under `[]`. */
export interface Shape {
  types: Set<string>;
  properties: Map<string, Shape>;
}

const SAMPLE_ITEMS = 60;
const DEPTH_MAX = 6;

const known = new Map<string, Promise<Shape>>();

/** The shape of a container, requested once. A failure is not cached, so that the next call tries again. */
export function shapeOf(name: ContainerName): Promise<Shape> {
  const key = JSON.stringify(name);
  let shape = known.get(key);
  if (!shape) {
    shape = sample(name);
    known.set(key, shape);
    shape.catch(() => known.delete(key));
  }
  return shape;
}

export function forgetShape(name: ContainerName): void {
  known.delete(JSON.stringify(name));
}

async function sample(name: ContainerName): Promise<Shape> {
  const root = emptyShape();
  const page = await queryPage({ name, text: `SELECT TOP ${SAMPLE_ITEMS} * FROM c`, pageSize: SAMPLE_ITEMS });
  for (const row of page.rows) learn(root, row, 0);
  return root;
}

export function emptyShape(): Shape {
  return { types: new Set(), properties: new Map() };
}

export function learn(shape: Shape, value: unknown, depth: number): void {
  shape.types.add(typeName(value));
  if (depth > DEPTH_MAX || typeof value !== "object" || value === null) return;
  const entries = Array.isArray(value) ? value.map((element) => ["[]", element] as const) : Object.entries(value);
  for (const [name, inner] of entries) {
    let below = shape.properties.get(name);
    if (!below) shape.properties.set(name, (below = emptyShape()));
    learn(below, inner, depth + 1);
  }
}

export function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
