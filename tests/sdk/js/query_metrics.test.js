// What a query tells of itself: metrics and the indexes that served it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { newContainer, suite } from "./setup.js";

const context = suite(async (prepared) => {
  prepared.thousand = await newContainer(prepared, {
    indexingPolicy: {
      includedPaths: [{ path: "/*" }],
      excludedPaths: [{ path: "/plain/*" }],
    },
  });
  for (let start = 0; start < 1000; start += 100) {
    const operations = Array.from({ length: 100 }, (_, index) => {
      const n = start + index;
      return {
        operationType: "Create",
        resourceBody: { id: `i${n}`, pk: "p", n, shelf: n % 100, plain: n },
      };
    });
    await prepared.thousand.items.batch(operations, "p");
  }
});

function ask(query, options) {
  return context.thousand.items.query(query, { partitionKey: "p", ...options }).fetchAll();
}

for (const [condition, read, given] of [
  ["c.shelf = 7", 10, 10],
  ["c.plain = 7", 1000, 1],
  ["c.shelf = 777", 0, 0],
]) {
  test(`metrics of ${condition}`, async () => {
    const response = await ask(`SELECT * FROM c WHERE ${condition}`, { populateQueryMetrics: true });
    assert.equal(response.resources.length, given);
    const [metrics] = Object.values(response.queryMetrics);
    assert.equal(metrics.retrievedDocumentCount, read);
    assert.equal(metrics.outputDocumentCount, given);
    assert.ok(metrics.totalQueryExecutionTime.totalMilliseconds() > 0);
    const ratio = read === 0 ? 1 : given / read;
    assert.ok(Math.abs(metrics.indexHitRatio - ratio) < 0.01, `${metrics.indexHitRatio}`);
  });
}

test("the items of a key are counted by the index", async () => {
  const response = await ask("SELECT VALUE COUNT(1) FROM c", { populateQueryMetrics: true });
  assert.deepEqual(response.resources, [1000]);
  const [metrics] = Object.values(response.queryMetrics);
  assert.equal(metrics.retrievedDocumentCount, 0);
});

test("indexes that serve and that would", async () => {
  const query = "SELECT * FROM c WHERE c.shelf = 7 AND c.plain > 3";
  const response = await ask(query, { populateIndexMetrics: true });
  const found = JSON.parse(response.indexMetrics);
  const utilized = [{ IndexSpec: "/shelf/?" }, { IndexSpec: "/pk/?" }];
  assert.deepEqual(found.UtilizedIndexes.SingleIndexes, utilized);
  assert.equal(found.PotentialIndexes.SingleIndexes[0].IndexSpec, "/plain/?");
});

test("indexes are named without rows too", async () => {
  const query = "SELECT * FROM c WHERE c.shelf = 777";
  const response = await ask(query, { populateIndexMetrics: true });
  const found = JSON.parse(response.indexMetrics);
  assert.equal(found.UtilizedIndexes.SingleIndexes[0].IndexSpec, "/shelf/?");
});
