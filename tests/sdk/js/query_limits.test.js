// TOP and OFFSET LIMIT, applied by the server and by the client.

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
} from "./mixed.js";

const context = mixedSuite();
const NUMBERS = DOCUMENTS.map((row) => row.n);

for (const [way, options] of Object.entries(EVERY_WAY)) {
  for (const count of [0, 1, 8, 150, 1000]) {
    test(`TOP ${count} of an order, by ${way}`, async () => {
      const query = `SELECT TOP ${count} VALUE c.n FROM c ORDER BY c.n`;
      const found = await inEveryPageSize(context.mixed, query, options);
      assert.deepEqual(found, NUMBERS.slice(0, count));
    });

    test(`TOP ${count} without an order, by ${way}`, async () => {
      const query = `SELECT TOP ${count} VALUE c.n FROM c`;
      const found = await inEveryPageSize(context.mixed, query, options);
      assert.equal(found.length, Math.min(count, 300));
      assert.equal(new Set(found).size, found.length);
    });
  }

  for (const [offset, limit] of [[0, 0], [0, 5], [3, 9], [50, 500], [999, 3]]) {
    test(`OFFSET ${offset} LIMIT ${limit}, by ${way}`, async () => {
      const ordered = `SELECT VALUE c.n FROM c ORDER BY c.n OFFSET ${offset} LIMIT ${limit}`;
      const expected = NUMBERS.slice(offset, offset + limit);
      assert.deepEqual(await inEveryPageSize(context.mixed, ordered, options), expected);
      const unordered = `SELECT VALUE c.n FROM c OFFSET ${offset} LIMIT ${limit}`;
      const found = await inEveryPageSize(context.mixed, unordered, options);
      assert.equal(new Set(found).size, expected.length);
    });
  }

  test(`counts from parameters, by ${way}`, async () => {
    const parameters = [
      { name: "@skip", value: 20 },
      { name: "@take", value: 5 },
    ];
    const query = "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET @skip LIMIT @take";
    const found = await rows(context.mixed, { query, parameters }, options);
    assert.deepEqual(found, NUMBERS.slice(20, 25));
  });

  test(`OFFSET LIMIT where the condition names one key, by ${way}`, async () => {
    const query = "SELECT VALUE c.n FROM c WHERE c.pk = 'hot' ORDER BY c.n OFFSET 4 LIMIT 6";
    const expected = HOT_DOCUMENTS.slice(4, 10).map((row) => row.n);
    assert.deepEqual(await inEveryPageSize(context.mixed, query, options), expected);
  });
}

test("inside one key", async () => {
  const query = "SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 2 LIMIT 10";
  const expected = HOT_DOCUMENTS.map((row) => row.n).reverse().slice(2, 12);
  assert.deepEqual(await inEveryPageSize(context.mixed, query, HOT), expected);
});

for (const [query, code] of [
  ["SELECT TOP -1 * FROM c", "SC1001"],
  ["SELECT TOP 4294967296 * FROM c", "SC2060"],
  ["SELECT * FROM c OFFSET 4294967296 LIMIT 1", "SC2062"],
  ["SELECT * FROM c OFFSET 1 LIMIT 4294967296", "SC2061"],
]) {
  test(`${query} is refused`, async () => {
    const error = await fails(rows(context.mixed, query, HOT), 400);
    assert.match(error.message, new RegExp(code));
  });
}
