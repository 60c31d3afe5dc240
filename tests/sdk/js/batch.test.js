// Transactional batch: all or nothing, in order.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fails, newContainer, suite, unique } from "./setup.js";

const context = suite();
const statuses = (response) => response.result.map((row) => row.statusCode);

test("every kind in order", async () => {
  const pk = unique("pk");
  for (const id of ["replaced", "patched", "deleted", "read"]) {
    await context.container.items.create({ id, pk, n: 0 });
  }
  const response = await context.container.items.batch(
    [
      { operationType: "Create", resourceBody: { id: "created", pk } },
      { operationType: "Upsert", resourceBody: { id: "upserted", pk } },
      { operationType: "Replace", id: "replaced", resourceBody: { id: "replaced", pk, n: 1 } },
      {
        operationType: "Patch",
        id: "patched",
        resourceBody: { operations: [{ op: "incr", path: "/n", value: 5 }] },
      },
      { operationType: "Read", id: "read" },
      { operationType: "Delete", id: "deleted" },
    ],
    pk,
  );
  assert.equal(response.code, 200);
  assert.deepEqual(statuses(response), [201, 201, 200, 200, 200, 204]);
  assert.equal(response.result[3].resourceBody.n, 5);
  for (const row of response.result.slice(0, 5)) {
    assert.equal(row.eTag, row.resourceBody._etag);
    assert.ok(row.requestCharge > 0);
  }
});

test("one failure undoes all", async () => {
  const pk = unique("pk");
  await context.container.items.create({ id: "taken", pk });
  const create = (id) => ({ operationType: "Create", resourceBody: { id, pk } });
  const response = await context.container.items.batch(
    [create("x"), create("taken"), create("y")],
    pk,
  );
  assert.equal(response.code, 207);
  assert.deepEqual(statuses(response), [424, 409, 424]);
  assert.equal((await context.container.item("x", pk).read()).statusCode, 404);
});

test("etags and conditions", async () => {
  const pk = unique("pk");
  const { resource } = await context.container.items.create({ id: "1", pk, n: 1 });
  const replace = (ifMatch) => [
    { operationType: "Replace", id: "1", ifMatch, resourceBody: { id: "1", pk, n: 2 } },
  ];
  assert.deepEqual(statuses(await context.container.items.batch(replace('"stale"'), pk)), [412]);
  assert.deepEqual(
    statuses(await context.container.items.batch(replace(resource._etag), pk)),
    [200],
  );
  const patch = {
    operationType: "Patch",
    id: "1",
    resourceBody: {
      operations: [{ op: "incr", path: "/n", value: 1 }],
      condition: "from c where c.n = 1",
    },
  };
  assert.deepEqual(statuses(await context.container.items.batch([patch], pk)), [412]);
});

test("minimal answers keep the bodies of reads only", async () => {
  const pk = unique("pk");
  const response = await context.container.items.batch(
    [
      { operationType: "Create", resourceBody: { id: "1", pk } },
      { operationType: "Read", id: "1" },
    ],
    pk,
    { contentResponseOnWriteEnabled: false },
  );
  assert.deepEqual(statuses(response), [201, 200]);
  assert.equal(response.result[0].resourceBody, undefined);
  assert.equal(response.result[1].resourceBody.id, "1");
});

test("empty and oversized batches", async () => {
  const pk = unique("pk");
  const empty = await fails(context.container.items.batch([], pk), 400);
  assert.match(empty.message, /Batch request has no operations\./);
  const text = "x".repeat(1_100_000);
  const big = ["a", "b"].map((id) => ({ operationType: "Create", resourceBody: { id, pk, text } }));
  const error = await fails(context.container.items.batch(big, pk), 413);
  assert.equal(error.body.code, "RequestEntityTooLarge");
});

test("an operation of another key", async () => {
  const operation = {
    operationType: "Create",
    partitionKey: "other",
    resourceBody: { id: "1", pk: "other" },
  };
  const error = await fails(context.container.items.batch([operation], unique("pk")), 400);
  assert.match(
    error.message,
    /One or more operations within the batch request have a different partition key value than the request\./,
  );
});

test("hierarchical key", async () => {
  const container = await newContainer(context, {
    partitionKey: { paths: ["/a", "/b"], kind: "MultiHash", version: 2 },
  });
  const response = await container.items.batch(
    [{ operationType: "Create", resourceBody: { id: "1", a: "x", b: 2 } }],
    ["x", 2],
  );
  assert.deepEqual(statuses(response), [201]);
});
