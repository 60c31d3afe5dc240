// DISTINCT, by the server and by the client.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DOCUMENTS,
  EVERY_WAY,
  HOT,
  HOT_DOCUMENTS,
  inEveryPageSize,
  mergedByClient,
  mixedSuite,
  once,
  sameRows,
} from "./mixed.js";

const context = mixedSuite();
const WAYS = Object.entries(EVERY_WAY).map(([way, options]) => [way, options, DOCUMENTS]);
WAYS.push(["the server inside one key", HOT, HOT_DOCUMENTS]);

for (const [way, options, documents] of WAYS) {
  test(`values of every kind, by ${way}`, async () => {
    const query = "SELECT DISTINCT VALUE c.v FROM c";
    // The client's own DISTINCT loses null, false, 0 and the empty string.
    const values = documents
      .filter((row) => "v" in row && (row.v || !mergedByClient(options)))
      .map((row) => row.v);
    sameRows(await inEveryPageSize(context.mixed, query, options), once(values));
  });

  test(`objects, by ${way}`, async () => {
    const query = "SELECT DISTINCT c.g, c.simple FROM c";
    const values = documents.map(({ g, simple }) => (simple === undefined ? { g } : { g, simple }));
    sameRows(await inEveryPageSize(context.mixed, query, options), once(values));
  });

  test(`in order, by ${way}`, async () => {
    const query = "SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g DESC";
    const expected = once(documents.map((row) => row.g)).sort().reverse();
    assert.deepEqual(await inEveryPageSize(context.mixed, query, options), expected);
  });

  test(`with limits, by ${way}`, async () => {
    const groups = once(documents.map((row) => row.g)).sort();
    const top = "SELECT DISTINCT TOP 3 VALUE c.g FROM c ORDER BY c.g";
    assert.deepEqual(await inEveryPageSize(context.mixed, top, options), groups.slice(0, 3));
    const some = "SELECT DISTINCT VALUE c.g FROM c OFFSET 2 LIMIT 4";
    const found = await inEveryPageSize(context.mixed, some, options);
    assert.equal(once(found).length, 4);
  });

  test(`through a join, by ${way}`, async () => {
    const query = "SELECT DISTINCT VALUE t.name FROM c JOIN t IN c.tags";
    sameRows(await inEveryPageSize(context.mixed, query, options), ["t0", "t1", "t2"]);
  });
}
