// Partition key values of every type, hierarchical keys, feed ranges.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PartitionKeyKind } from "@azure/cosmos";
import { fails, ids, newContainer, suite } from "./setup.js";

const context = suite();
const VALUES = ["text", "", 0, 7, -2.5, 1e300, true, false, null];

for (const version of [1, 2]) {
  test(`every type of value, hash version ${version}`, async () => {
    const container = await newContainer(context, { partitionKey: { paths: ["/pk"], version } });
    for (const pk of VALUES) {
      const { resource } = await container.items.create({ id: "same", pk });
      assert.deepEqual((await container.item("same", pk).read()).resource, resource);
    }
    const { resource } = await container.items.create({ id: "same" });
    assert.deepEqual((await container.item("same", undefined).read()).resource, resource);
    assert.equal((await container.items.readAll().fetchAll()).resources.length, 10);
    await container.item("same", null).delete();
    assert.equal((await container.item("same", undefined).read()).statusCode, 200);
  });
}

for (const version of [1, 2]) {
  test(`an array or an object is no key, hash version ${version}`, async () => {
    const container = await newContainer(context, { partitionKey: { paths: ["/pk"], version } });
    const values = { array: ["a"], object: { a: 1 } };
    for (const [id, pk] of Object.entries(values)) {
      const write = { operationType: "Create", resourceBody: { id, pk } };
      const { result } = await container.items.batch([write], undefined);
      assert.equal(result[0].statusCode, 201);
      const { resource } = await container.item(id, undefined).read();
      assert.deepEqual(resource, result[0].resourceBody);
      assert.deepEqual(resource.pk, pk);
      // This client sends a key of no values with such an item.
      await fails(container.items.create({ id: "alone", pk }), 400, 1001);
    }
    const { resource } = await container.items.create({ id: "empty", pk: {} });
    assert.deepEqual((await container.item("empty", undefined).read()).resource, resource);
  });
}

test("hierarchical keys", async () => {
  const container = await newContainer(
    context,
    { partitionKey: { paths: ["/a", "/b", "/c"], kind: PartitionKeyKind.MultiHash, version: 2 } },
    { offerThroughput: 18000 },
  );
  for (const a of ["x", "y"]) {
    for (const b of [1, 2]) {
      await container.items.create({ id: `${a}${b}`, a, b, c: true });
    }
  }
  assert.equal((await container.item("x1", ["x", 1, true]).read()).resource.id, "x1");
  assert.equal((await container.item("x1", ["y", 1, true]).read()).statusCode, 404);
  const whole = await container.items
    .query("SELECT * FROM c", { partitionKey: ["y", 2, true] })
    .fetchAll();
  assert.deepEqual(ids(whole.resources), ["y2"]);
  await container.item("x1", ["x", 1, true]).delete();
  assert.deepEqual(ids((await container.items.readAll().fetchAll()).resources), ["x2", "y1", "y2"]);
  await fails(container.item("x2", ["x"]).read(), 400);
});

test("four levels are too many", async () => {
  const partitionKey = {
    paths: ["/a", "/b", "/c", "/d"],
    kind: PartitionKeyKind.MultiHash,
    version: 2,
  };
  await fails(newContainer(context, { partitionKey }), 400);
});

const BOUNDARIES = [
  [2, 400, []],
  [2, 12000, [`1${"F".repeat(31)}`]],
  [2, 18000, [`1${"5".repeat(31)}`, `2${"A".repeat(31)}`]],
  [
    2,
    30000,
    [
      "0CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC",
      "19999999999999999999999999999998",
      "26666666666666666666666666666664",
      "33333333333333333333333333333330",
    ],
  ],
  [1, 12000, ["05C1DFFFFFFFFC"]],
  [1, 18000, ["05C1D5AB55AB54", "05C1E5AB55AB54"]],
];

for (const [version, offerThroughput, inner] of BOUNDARIES) {
  test(`ranges at ${offerThroughput} RU/s, hash version ${version}`, async () => {
    const partitionKey = { paths: ["/pk"], version };
    const container = await newContainer(context, { partitionKey }, { offerThroughput });
    const { resources } = await container.readPartitionKeyRanges().fetchAll();
    assert.deepEqual(
      resources.map((range) => range.id),
      [...inner.keys(), inner.length].map(String),
    );
    assert.deepEqual(
      resources.map((range) => range.minInclusive),
      ["", ...inner],
    );
    assert.deepEqual(
      resources.map((range) => range.maxExclusive),
      [...inner, "FF"],
    );
    assert.ok(resources.every((range) => range.parents.length === 0));
    assert.equal((await container.getFeedRanges()).length, inner.length + 1);
  });
}

test("delete all items of a key", async () => {
  const container = await newContainer(context);
  for (const pk of ["gone", "kept"]) {
    await container.items.create({ id: "1", pk });
  }
  await container.deleteAllItemsForPartitionKey("gone");
  assert.equal((await container.item("1", "gone").read()).statusCode, 404);
  assert.equal((await container.item("1", "kept").read()).statusCode, 200);
});
