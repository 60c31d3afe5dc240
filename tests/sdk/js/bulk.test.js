// Bulk: independent operations over all partitions, answered in the order asked.

import assert from "node:assert/strict";
import { test } from "node:test";
import { newContainer, suite } from "./setup.js";

const context = suite();

for (const version of [1, 2]) {
  for (const call of ["bulk", "executeBulkOperations"]) {
    test(`${call} over three partitions, hash version ${version}`, async () => {
      const container = await newContainer(
        context,
        { partitionKey: { paths: ["/pk"], version } },
        { offerThroughput: 18000 },
      );
      const count = call === "bulk" ? 60 : 250;
      const run = runner(container, call);
      const create = Array.from({ length: count }, (_, n) => ({
        operationType: "Create",
        partitionKey: `k${n}`,
        resourceBody: { id: `i${n}`, pk: `k${n}`, n },
      }));
      const created = await run(create);
      assert.deepEqual(
        created.map((row) => row.statusCode),
        Array(count).fill(201),
      );
      assert.deepEqual(
        created.map((row) => row.resourceBody.n),
        [...Array(count).keys()],
      );
      const read = create.map((row) => ({
        operationType: "Read",
        id: row.resourceBody.id,
        partitionKey: row.partitionKey,
      }));
      const found = await run(read);
      assert.deepEqual(
        found.map((row) => row.resourceBody.n),
        [...Array(count).keys()],
      );
    });
  }
}

/** Both calls answer a list of `{statusCode, resourceBody}`. */
function runner(container, call) {
  if (call === "bulk") {
    return (operations) => container.items.bulk(operations);
  }
  return async (operations) => {
    const results = await container.items.executeBulkOperations(operations);
    return results.map((row) => row.response ?? { statusCode: row.error.code });
  };
}

for (const call of ["bulk", "executeBulkOperations"]) {
  test(`${call}: each operation stands alone`, async () => {
    const container = await newContainer(context);
    await container.items.create({ id: "taken", pk: "a", n: 1 });
    const run = runner(container, call);
    const results = await run([
      { operationType: "Create", partitionKey: "a", resourceBody: { id: "taken", pk: "a" } },
      { operationType: "Create", partitionKey: "a", resourceBody: { id: "new", pk: "a" } },
      { operationType: "Read", partitionKey: "a", id: "none" },
      {
        operationType: "Patch",
        partitionKey: "a",
        id: "taken",
        resourceBody: { operations: [{ op: "incr", path: "/n", value: 1 }] },
      },
      { operationType: "Delete", partitionKey: "b", id: "taken" },
      { operationType: "Upsert", partitionKey: "b", resourceBody: { id: "new", pk: "b" } },
    ]);
    assert.deepEqual(
      results.map((row) => row.statusCode),
      [409, 201, 404, 200, 404, 201],
    );
    assert.equal((await container.item("taken", "a").read()).resource.n, 2);
    assert.equal((await container.item("new", "b").read()).statusCode, 200);
  });
}

test("keys of every type", async () => {
  const container = await newContainer(context, {}, { offerThroughput: 18000 });
  const keys = ["text", "", 0, -2.5, true, false, null];
  const operations = keys.map((pk, n) => ({
    operationType: "Create",
    partitionKey: pk,
    resourceBody: { id: `${n}`, pk },
  }));
  const results = await container.items.bulk(operations);
  assert.deepEqual(
    results.map((row) => row.statusCode),
    keys.map(() => 201),
  );
  const none = await container.items.bulk([
    { operationType: "Create", resourceBody: { id: "none" } },
  ]);
  assert.deepEqual(
    none.map((row) => row.statusCode),
    [201],
  );
  assert.equal((await container.item("none", undefined).read()).statusCode, 200);
});

test("stopping at the first failure", async () => {
  const container = await newContainer(context);
  await container.items.create({ id: "taken", pk: "a" });
  const create = (id) => ({
    operationType: "Create",
    partitionKey: "a",
    resourceBody: { id, pk: "a" },
  });
  const results = await container.items.bulk([create("x"), create("taken"), create("y")], {
    continueOnError: false,
  });
  assert.deepEqual(
    results.map((row) => row.statusCode),
    [201, 409, 424],
  );
});
