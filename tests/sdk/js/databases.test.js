// Databases: create, read, list, query, delete.

import assert from "node:assert/strict";
import { test } from "node:test";
import { charge, fails, ids, suite, unique } from "./setup.js";

const context = suite();

test("create, read, conflict, delete", async () => {
  const id = unique("db");
  const created = await context.client.databases.create({ id });
  assert.equal(created.statusCode, 201);
  assert.ok(charge(created) > 0);
  assert.equal(created.resource._self, `dbs/${created.resource._rid}/`);
  const read = await created.database.read();
  assert.equal(read.statusCode, 200);
  assert.deepEqual(read.resource, created.resource);
  assert.equal(read.headers.etag, read.resource._etag);
  await fails(context.client.databases.create({ id }), 409);
  const deleted = await created.database.delete();
  assert.equal(deleted.statusCode, 204);
  await fails(created.database.read(), 404);
  await fails(created.database.delete(), 404);
});

test("createIfNotExists says which it was", async () => {
  const id = unique("db");
  assert.equal((await context.client.databases.createIfNotExists({ id })).statusCode, 201);
  assert.equal((await context.client.databases.createIfNotExists({ id })).statusCode, 200);
});

test("list and query", async () => {
  const made = [unique("db"), unique("db")];
  for (const id of made) {
    await context.client.databases.create({ id });
  }
  const { resources } = await context.client.databases.readAll().fetchAll();
  assert.ok(made.every((id) => ids(resources).includes(id)));
  const query = {
    query: "SELECT * FROM r WHERE r.id = @id",
    parameters: [{ name: "@id", value: made[0] }],
  };
  const found = await context.client.databases.query(query).fetchAll();
  assert.deepEqual(ids(found.resources), [made[0]]);
});

test("read with the current etag is not modified", async () => {
  const { resource, database } = await context.client.databases.create({ id: unique("db") });
  const condition = { type: "IfNoneMatch", condition: resource._etag };
  const read = await database.read({ accessCondition: condition });
  assert.equal(read.statusCode, 304);
});

for (const id of ["with space", "colls", "üñî", "a+b", "日本"]) {
  test(`name ${id}`, async () => {
    const { database } = await context.client.databases.create({ id });
    assert.equal((await database.read()).resource.id, id);
    const { container } = await database.containers.create({ id, partitionKey: "/pk" });
    await container.items.create({ id: "1", pk: "a" });
    assert.equal((await container.item("1", "a").read()).resource.id, "1");
    await database.delete();
  });
}
