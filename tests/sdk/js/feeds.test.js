// Reading all items and simple queries over one and over three physical partitions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ids, newContainer, suite } from "./setup.js";

const EVERYTHING = Array.from({ length: 100 }, (_, n) => `i${n}`).sort();
let wide;

const context = suite(async (context) => {
  wide = await newContainer(context, {}, { offerThroughput: 18000 });
  for (let n = 0; n < 100; n += 1) {
    await wide.items.create({ id: `i${n}`, pk: `k${n % 50}`, n, even: n % 2 === 0, s: "it's" });
  }
});

async function drain(iterator) {
  const pages = [];
  while (iterator.hasMoreResults()) {
    const { resources } = await iterator.fetchNext();
    pages.push(resources ?? []);
  }
  return pages;
}

test("readAll returns every item once", async () => {
  assert.deepEqual(ids((await wide.items.readAll().fetchAll()).resources), EVERYTHING);
});

for (const maxItemCount of [1, 7, 1000, -1]) {
  test(`readAll in pages of ${maxItemCount}`, async () => {
    const pages = await drain(wide.items.readAll({ maxItemCount }));
    if (maxItemCount > 0) {
      assert.ok(pages.every((page) => page.length <= maxItemCount));
    }
    assert.deepEqual(ids(pages.flat()), EVERYTHING);
  });
}

test("the async iterator", async () => {
  const seen = [];
  for await (const { resources } of wide.items.readAll({ maxItemCount: 13 }).getAsyncIterator()) {
    seen.push(...(resources ?? []));
  }
  assert.deepEqual(ids(seen), EVERYTHING);
});

test("readAll inside one key continues from a token", async () => {
  const container = await newContainer(context);
  for (let n = 0; n < 10; n += 1) {
    await container.items.create({ id: `${n}`, pk: "a" });
  }
  const options = { partitionKey: "a", maxItemCount: 4 };
  const first = await container.items.readAll(options).fetchNext();
  assert.equal(first.resources.length, 4);
  assert.ok(first.continuationToken);
  const rest = await drain(
    container.items.readAll({ ...options, continuationToken: first.continuationToken }),
  );
  assert.equal(ids([...first.resources, ...rest.flat()]).join(""), "0123456789");
});

const CONDITIONS = [
  ["c.n = 5", 1],
  ["c.n != 5", 99],
  ["c.n < 10 AND c.even = true", 5],
  ["c.n >= 98 OR c.id = 'i0'", 3],
  ["NOT c.even", 50],
  ["c.n IN (1, 2, 300)", 2],
  ["c.n BETWEEN 10 AND 19", 10],
  ["c.s = 'it\\'s'", 100],
  ["c.missing = 1", 0],
];

for (const [condition, count] of CONDITIONS) {
  test(`WHERE ${condition}`, async () => {
    const query = `SELECT * FROM c WHERE ${condition}`;
    const { resources } = await wide.items.query(query).fetchAll();
    assert.equal(resources.length, count);
  });
}

test("projections", async () => {
  const options = { partitionKey: "k7" };
  const values = await wide.items.query("SELECT VALUE c.n FROM c", options).fetchAll();
  assert.deepEqual(
    values.resources.sort((a, b) => a - b),
    [7, 57],
  );
  const rows = await wide.items.query("SELECT c.id, c.n FROM c WHERE c.n = 7", options).fetchAll();
  assert.deepEqual(rows.resources, [{ id: "i7", n: 7 }]);
});

test("parameters", async () => {
  const query = {
    query: "SELECT * FROM c WHERE c.n > @low AND c.even = @even",
    parameters: [
      { name: "@low", value: 90 },
      { name: "@even", value: false },
    ],
  };
  const { resources, requestCharge } = await wide.items.query(query).fetchAll();
  assert.deepEqual(ids(resources), ["i91", "i93", "i95", "i97", "i99"]);
  assert.ok(requestCharge > 0);
});

test("a syntax error is a bad request", async () => {
  await assert.rejects(wide.items.query("SELEC * FRM c").fetchAll(), (error) => error.code === 400);
});
