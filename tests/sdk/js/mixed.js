// Three hundred documents with every kind of value on one property, the order they sort in, and
// the ways to run a query: by the server alone, or by the client from the server's plan.

import assert from "node:assert/strict";
import { newContainer, suite } from "./setup.js";

export const PAGE_SIZES = [1, 7, 100, 1000];
export const HOT_KEY = "hot";
export const HOT = { partitionKey: HOT_KEY };

/** All rows from the server, which otherwise would leave the merge of partitions to the client. */
export const WHOLE = { initialHeaders: { "x-orrery-whole-query": "True" } };
/** What the options of a query choose: who merges the partitions. */
export const NATIVE = { "the server": WHOLE };
export const PIPELINES = {
  "the client, sent away by the server": {},
  "the client, forced to plan": { forceQueryPlan: true },
  "the client under query control": { enableQueryControl: true },
};
export const EVERY_WAY = { ...NATIVE, ...PIPELINES };

const STRINGS = ["", "A", "a", "aa", "b", "Ä", "ü", "z", "\u{ff5e}", "\u{1f600}", "10", "9"];

/** The value of `v`: ten kinds in turn, with repeated values inside each kind. */
function valueOf(n) {
  const turn = Math.floor(n / 10);
  return [
    undefined,
    null,
    false,
    true,
    turn - 12,
    (turn % 9) / 4 - 1.125,
    `s${turn % 11}`,
    STRINGS[turn % STRINGS.length],
    [turn % 4, { deep: [turn % 3] }],
    { x: turn % 5, y: [null, turn % 2 === 0] },
  ][n % 10];
}

function documentOf(n) {
  const made = {
    // In another order than the documents are made in, so that no order by id passes for one of creation.
    id: `i${String((n * 17) % 300).padStart(3, "0")}`,
    pk: Math.floor(n / 10) % 5 === 0 ? HOT_KEY : `k${n % 37}`,
    n,
    g: `g${n % 7}`,
    price: ((n * 3) % 101) / 4,
    tags: Array.from({ length: n % 4 }, (_, k) => ({ name: `t${k}`, w: (k * n) % 5 })),
  };
  const value = valueOf(n);
  if (value !== undefined) {
    made.v = value;
  }
  // What the client can read as a key of its own groups: no nulls, arrays or objects.
  if (value !== null && typeof value !== "object" && value !== undefined) {
    made.simple = value;
  }
  return made;
}

export const DOCUMENTS = Array.from({ length: 300 }, (_, n) => documentOf(n));
export const HOT_DOCUMENTS = DOCUMENTS.filter((row) => row.pk === HOT_KEY);

/** A suite with the documents in a container of three physical partitions. */
export function mixedSuite() {
  const context = suite(async () => {
    context.mixed = await newContainer(context, {}, { offerThroughput: 18000 });
    for (const row of DOCUMENTS) {
      await context.mixed.items.create(row);
    }
  });
  return context;
}

function rank(value) {
  if (value === undefined) return 0;
  if (value === null) return 1;
  if (typeof value === "boolean") return value ? 3 : 2;
  if (typeof value === "number") return 4;
  if (typeof value === "string") return 5;
  return Array.isArray(value) ? 6 : 7;
}

/** The total order of the language; arrays stay equal among themselves, and objects too. */
export function compare(a, b) {
  const difference = rank(a) - rank(b);
  if (difference !== 0 || a === b || rank(a) > 5 || rank(a) < 4) {
    return difference;
  }
  return a < b ? -1 : 1;
}

/** A copy that sorts and compares as text, whatever the order of properties. */
export function canonical(value) {
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join()}]`;
  }
  if (value !== null && typeof value === "object") {
    const members = Object.keys(value).sort();
    return `{${members.map((name) => `${name}:${canonical(value[name])}`).join()}}`;
  }
  return JSON.stringify(value) ?? "undefined";
}

/** The same rows, in any order. */
export function sameRows(found, expected) {
  assert.deepEqual(found.map(canonical).sort(), expected.map(canonical).sort());
}

export function once(values) {
  const seen = new Map(values.map((value) => [canonical(value), value]));
  return [...seen.values()];
}

export async function drain(iterator, maxItemCount = Infinity) {
  const found = [];
  while (iterator.hasMoreResults()) {
    const { resources } = await iterator.fetchNext();
    assert.ok((resources ?? []).length <= maxItemCount);
    found.push(...(resources ?? []));
  }
  return found;
}

export function rows(container, query, options = {}) {
  return drain(container.items.query(query, options), options.maxItemCount);
}

/** Whether the client merges the partitions, so that the answer has what is its own. */
export function mergedByClient(options) {
  return !options.initialHeaders && options.partitionKey === undefined;
}

/** What every page size has in common; without an order the client mixes the partitions. */
function comparable(found, query, options) {
  const text = query.query ?? query;
  if (!mergedByClient(options) || text.includes("ORDER BY")) {
    return found;
  }
  return /TOP|OFFSET/.test(text) ? found.length : found.map(canonical).sort();
}

/** The rows of a query, after checking that no page size changes them or their order. */
export async function inEveryPageSize(container, query, options = {}) {
  let first;
  for (const maxItemCount of PAGE_SIZES) {
    const found = await rows(container, query, { ...options, maxItemCount });
    first ??= found;
    assert.deepEqual(
      comparable(found, query, options),
      comparable(first, query, options),
      `pages of ${maxItemCount} differ from pages of 1`,
    );
  }
  return first;
}
