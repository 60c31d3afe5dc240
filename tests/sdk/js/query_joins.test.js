// FROM paths, JOIN and subqueries, by the server and by the client.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fails } from "./setup.js";
import {
  DOCUMENTS,
  EVERY_WAY,
  HOT,
  HOT_DOCUMENTS,
  inEveryPageSize,
  mixedSuite,
  rows,
  sameRows,
} from "./mixed.js";

const context = mixedSuite();
const WAYS = Object.entries(EVERY_WAY).map(([way, options]) => [way, options, DOCUMENTS]);
WAYS.push(["the server inside one key", HOT, HOT_DOCUMENTS]);

for (const [way, options, documents] of WAYS) {
  test(`join with a condition, by ${way}`, async () => {
    const query = "SELECT c.n, t.w FROM c JOIN t IN c.tags WHERE t.name != 't0' AND t.w > 1";
    const expected = documents.flatMap(({ n, tags }) =>
      tags.filter(({ name, w }) => name !== "t0" && w > 1).map(({ w }) => ({ n, w })),
    );
    sameRows(await inEveryPageSize(context.mixed, query, options), expected);
  });

  test(`cross product, by ${way}`, async () => {
    const query = "SELECT c.n, a.name AS x, b.name AS y FROM c JOIN a IN c.tags JOIN b IN c.tags";
    const expected = documents.flatMap(({ n, tags }) =>
      tags.flatMap((a) => tags.map((b) => ({ n, x: a.name, y: b.name }))),
    );
    sameRows(await inEveryPageSize(context.mixed, query, options), expected);
  });

  test(`EXISTS and ARRAY, by ${way}`, async () => {
    const query =
      "SELECT c.n, ARRAY(SELECT VALUE t.name FROM t IN c.tags WHERE t.w > 0) AS names FROM c " +
      "WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t.w = 4)";
    const expected = documents
      .filter(({ tags }) => tags.some(({ w }) => w === 4))
      .map(({ n, tags }) => ({ n, names: tags.filter(({ w }) => w > 0).map(({ name }) => name) }));
    sameRows(await inEveryPageSize(context.mixed, query, options), expected);
  });

  test(`scalar subqueries, by ${way}`, async () => {
    const query = "SELECT c.n, (SELECT VALUE COUNT(1) FROM t IN c.tags) AS count FROM c";
    const expected = documents.map(({ n, tags }) => ({ n, count: tags.length }));
    sameRows(await inEveryPageSize(context.mixed, query, options), expected);
  });

  test(`subquery as a source, by ${way}`, async () => {
    const query =
      "SELECT c.n, t.w FROM c JOIN (SELECT VALUE t FROM t IN c.tags WHERE t.w >= 3) AS t";
    const expected = documents.flatMap(({ n, tags }) =>
      tags.filter(({ w }) => w >= 3).map(({ w }) => ({ n, w })),
    );
    sameRows(await inEveryPageSize(context.mixed, query, options), expected);
  });

  test(`path as a source, by ${way}`, async () => {
    const found = await inEveryPageSize(context.mixed, "SELECT VALUE x FROM c.v.x", options);
    sameRows(
      found,
      documents.filter(({ v }) => v?.x !== undefined).map(({ v }) => v.x),
    );
  });
}

test("a scalar subquery with many rows is refused", async () => {
  const query = "SELECT VALUE (SELECT VALUE t.w FROM t IN c.tags) FROM c";
  await fails(rows(context.mixed, query, HOT), 400);
});

test("without a source", async () => {
  assert.deepEqual(await rows(context.mixed, "SELECT 1 AS a, undefined AS b", HOT), [{ a: 1 }]);
});
