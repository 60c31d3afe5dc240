// Pages, and continuing from their tokens in a client that never saw the first page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, fails } from "./setup.js";
import { HOT, WHOLE, inEveryPageSize, mixedSuite, rows, sameRows } from "./mixed.js";

const context = mixedSuite();
const ONE_STREAM = [
  "SELECT * FROM c",
  "SELECT VALUE c.v FROM c WHERE c.n > 20",
  "SELECT * FROM c ORDER BY c.v DESC",
  "SELECT VALUE c.n FROM c ORDER BY c.g",
  "SELECT TOP 50 VALUE c.n FROM c ORDER BY c.g DESC",
  "SELECT VALUE c.n FROM c ORDER BY c.v OFFSET 13 LIMIT 40",
  "SELECT DISTINCT VALUE c.v FROM c",
  "SELECT c.v, COUNT(1) AS n FROM c GROUP BY c.v",
  "SELECT c.n, t.name FROM c JOIN t IN c.tags",
];
const SCOPES = { "three partitions": WHOLE, "one key": HOT };

/** Two pages here, the rest from a token in a client of its own. */
async function resumed(query, options) {
  const first = context.mixed.items.query(query, { ...options, maxItemCount: 5 });
  const seen = [];
  let token;
  while (seen.length < 8) {
    const page = await first.fetchNext();
    seen.push(...(page.resources ?? []));
    token = page.continuationToken;
  }
  assert.ok(token);
  const client = connect(context.server);
  try {
    const again = client.database(context.database.id).container(context.mixed.id);
    const rest = { ...options, maxItemCount: 7, continuationToken: token };
    return [...seen, ...(await rows(again, query, rest))];
  } finally {
    client.dispose();
  }
}

for (const [scope, options] of Object.entries(SCOPES)) {
  for (const query of ONE_STREAM) {
    test(`${query} over ${scope}`, async () => {
      const expected = await inEveryPageSize(context.mixed, query, options);
      assert.deepEqual(await resumed(query, options), expected);
    });
  }

  for (const query of ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.n"]) {
    test(`a broken token for ${query} over ${scope}`, async () => {
      const broken = { ...options, continuationToken: "not a token" };
      await fails(rows(context.mixed, query, broken), 400);
    });
  }
}

// No partition waits for another one, so the server answers them over all of them, and the tokens are its own.
for (const query of [
  "SELECT * FROM c",
  "SELECT VALUE c.v FROM c WHERE c.n > 20",
  "SELECT c.n, t.name FROM c JOIN t IN c.tags",
]) {
  test(`${query} of a client without options`, async () => {
    const expected = await rows(context.mixed, query, WHOLE);
    assert.deepEqual(await rows(context.mixed, query, {}), expected);
    assert.deepEqual(await resumed(query, {}), expected);
  });
}

test("a merge does not go on from a token of the server", async () => {
  const query = "SELECT VALUE c.n FROM c ORDER BY c.n";
  const first = await context.mixed.items.query(query, { ...WHOLE, maxItemCount: 5 }).fetchNext();
  const continuationToken = first.continuationToken;
  assert.ok(continuationToken);
  const error = await fails(rows(context.mixed, query, { continuationToken }), 400, 0);
  assert.match(error.message, /your SDK merges the rows of this query/);
  assert.equal((await rows(context.mixed, query, { ...WHOLE, continuationToken })).length, 295);
});

// The tokens of the client's own merge hold one token of the server for each partition.
for (const query of [
  "SELECT * FROM c",
  "SELECT VALUE c.n FROM c ORDER BY c.n",
  "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
  "SELECT TOP 50 VALUE c.n FROM c ORDER BY c.n",
  "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 13 LIMIT 40",
]) {
  test(`${query} under query control`, async () => {
    const control = { enableQueryControl: true };
    const expected = await inEveryPageSize(context.mixed, query, control);
    const found = await resumed(query, control);
    sameRows(found, expected);
    if (query.includes("ORDER BY")) {
      assert.deepEqual(found, expected);
    }
  });
}
