// ORDER BY over every kind of value, merged by the server and by the client.

import assert from "node:assert/strict";
import { test } from "node:test";
import { newContainer } from "./setup.js";
import {
  compare,
  DOCUMENTS,
  EVERY_WAY,
  HOT,
  HOT_DOCUMENTS,
  inEveryPageSize,
  mixedSuite,
  rows,
  sameRows,
  WHOLE,
} from "./mixed.js";

const context = mixedSuite();
const SCOPES = { "three partitions": [WHOLE, DOCUMENTS], "one key": [HOT, HOT_DOCUMENTS] };

function assertSorted(values, direction) {
  for (let at = 1; at < values.length; at += 1) {
    const step = compare(values[at - 1], values[at]);
    assert.ok(direction === "DESC" ? step >= 0 : step <= 0, `row ${at} is out of order`);
  }
}

for (const [scope, [options, documents]] of Object.entries(SCOPES)) {
  for (const direction of ["", "ASC", "DESC"]) {
    test(`every kind of value ${direction}, ${scope}`, async () => {
      const query = `SELECT * FROM c ORDER BY c.v ${direction}`;
      const found = await inEveryPageSize(context.mixed, query, options);
      assertSorted(
        found.map((row) => row.v),
        direction,
      );
      sameRows(
        found.map((row) => row.n),
        documents.map((row) => row.n),
      );
    });
  }
}

for (const [way, options] of Object.entries(EVERY_WAY)) {
  for (const direction of ["", "DESC"]) {
    // The client's own merge refuses keys of more than one type.
    for (const kind of ["IS_BOOL", "IS_NUMBER", "IS_STRING"]) {
      test(`${kind} values ${direction}, by ${way}`, async () => {
        const query = `SELECT c.n, c.v FROM c WHERE ${kind}(c.v) ORDER BY c.v ${direction}`;
        const found = await inEveryPageSize(context.mixed, query, options);
        assertSorted(
          found.map((row) => row.v),
          direction,
        );
        const type = { IS_BOOL: "boolean", IS_NUMBER: "number", IS_STRING: "string" }[kind];
        sameRows(
          found,
          DOCUMENTS.filter(({ v }) => typeof v === type).map(({ n, v }) => ({ n, v })),
        );
      });
    }

    test(`distinct keys ${direction}, by ${way}`, async () => {
      const query = `SELECT * FROM c WHERE c.n >= 20 ORDER BY c.n ${direction}`;
      const found = await inEveryPageSize(context.mixed, query, options);
      const expected = DOCUMENTS.slice(20).map((row) => row.id);
      if (direction === "DESC") {
        expected.reverse();
      }
      assert.deepEqual(
        found.map((row) => row.id),
        expected,
      );
    });
  }

  test(`values without rows that lack them, by ${way}`, async () => {
    const query = "SELECT VALUE c.v FROM c ORDER BY c.n";
    const expected = DOCUMENTS.filter((row) => "v" in row).map((row) => row.v);
    assert.deepEqual(await inEveryPageSize(context.mixed, query, options), expected);
  });

  test(`rows of a join, by ${way}`, async () => {
    const query = "SELECT c.n, t.name FROM c JOIN t IN c.tags WHERE t.w > 0 ORDER BY c.n DESC";
    const found = await inEveryPageSize(context.mixed, query, options);
    const expected = DOCUMENTS.flatMap(({ n, tags }) =>
      tags.filter((tag) => tag.w > 0).map(({ name }) => ({ n, name })),
    );
    assertSorted(
      found.map((row) => row.n),
      "DESC",
    );
    sameRows(found, expected);
  });

  test(`two items with a composite index, by ${way}`, async () => {
    const container = await newContainer(
      context,
      {
        indexingPolicy: {
          indexingMode: "consistent",
          includedPaths: [{ path: "/*" }],
          compositeIndexes: [
            [
              { path: "/g", order: "ascending" },
              { path: "/n", order: "descending" },
            ],
          ],
        },
      },
      { offerThroughput: 18000 },
    );
    const some = DOCUMENTS.slice(0, 40);
    for (const row of some) {
      await container.items.create(row);
    }
    const query = "SELECT VALUE c.n FROM c ORDER BY c.g ASC, c.n DESC";
    const expected = some.toSorted((a, b) => compare(a.g, b.g) || b.n - a.n).map((row) => row.n);
    assert.deepEqual(await inEveryPageSize(container, query, options), expected);
  });
}

test("ties follow creation inside a key", async () => {
  const found = await rows(context.mixed, "SELECT VALUE c.n FROM c ORDER BY c.g", HOT);
  const expected = HOT_DOCUMENTS.toSorted((a, b) => compare(a.g, b.g) || a.n - b.n);
  assert.notDeepEqual(
    expected,
    HOT_DOCUMENTS.toSorted((a, b) => compare(a.g, b.g) || compare(a.id, b.id)),
  );
  assert.deepEqual(
    found,
    expected.map((row) => row.n),
  );
});
