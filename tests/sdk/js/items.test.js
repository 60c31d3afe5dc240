// Items: the verbs, the properties the server adds, conditions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { charge, fails, newContainer, suite, unique, withoutSystem } from "./setup.js";

const context = suite();
const STALE = '"00000000-0000-0000-0000-000000000000"';

test("create adds system properties", async () => {
  const pk = unique("pk");
  const created = await context.container.items.create({ id: "1", pk, a: [1, { b: null }] });
  assert.equal(created.statusCode, 201);
  assert.deepEqual(withoutSystem(created.resource), { id: "1", pk, a: [1, { b: null }] });
  assert.equal(created.headers.etag, created.resource._etag);
  assert.equal(created.etag, created.resource._etag);
  assert.equal(created.resource._attachments, "attachments/");
  assert.ok(charge(created) > 0);
  const read = await created.item.read();
  assert.equal(read.statusCode, 200);
  assert.equal(charge(read), 1);
  assert.deepEqual(read.resource, created.resource);
});

test("a point read of nothing answers 404 without throwing", async () => {
  const read = await context.container.item("none", "nobody").read();
  assert.equal(read.statusCode, 404);
  assert.equal(read.resource, undefined);
  assert.ok(charge(read) > 0);
});

test("upsert, replace, delete", async () => {
  const pk = unique("pk");
  const items = context.container.items;
  const created = await items.upsert({ id: "1", pk, n: 1 });
  assert.equal(created.statusCode, 201);
  const replaced = await items.upsert({ id: "1", pk, n: 2 });
  assert.equal(replaced.statusCode, 200);
  assert.equal(replaced.resource._rid, created.resource._rid);
  assert.notEqual(replaced.resource._etag, created.resource._etag);
  const item = context.container.item("1", pk);
  assert.equal((await item.replace({ id: "1", pk, n: 3 })).resource.n, 3);
  assert.equal((await item.delete()).statusCode, 204);
  await fails(item.delete(), 404, 0);
  await fails(item.replace({ id: "1", pk }), 404);
});

test("create twice conflicts", async () => {
  const pk = unique("pk");
  await context.container.items.create({ id: "1", pk });
  const error = await fails(context.container.items.create({ id: "1", pk }), 409);
  assert.equal(error.body.code, "Conflict");
  assert.ok(error.headers["x-ms-session-token"]);
});

test("an id is generated unless switched off", async () => {
  const pk = unique("pk");
  const { resource } = await context.container.items.create({ pk });
  assert.equal(resource.id.length, 36);
  const options = { disableAutomaticIdGeneration: true };
  const error = await fails(context.container.items.create({ pk }, options), 400);
  assert.match(error.message, /the required properties - 'id; ' - are missing/);
});

test("if-match and if-none-match", async () => {
  const pk = unique("pk");
  const { resource, item } = await context.container.items.create({ id: "1", pk });
  const given = (type, condition) => ({ accessCondition: { type, condition } });
  const unchanged = await item.read(given("IfNoneMatch", resource._etag));
  assert.equal(unchanged.statusCode, 304);
  assert.equal(unchanged.headers.etag, resource._etag);
  const body = { id: "1", pk, n: 1 };
  await fails(item.replace(body, given("IfMatch", STALE)), 412);
  await fails(item.delete(given("IfMatch", STALE)), 412);
  await fails(context.container.items.upsert(body, given("IfMatch", STALE)), 412);
  await fails(context.container.items.upsert(body, given("IfNoneMatch", "*")), 412);
  await item.replace(body, given("IfMatch", resource._etag));
  const changed = await item.read(given("IfNoneMatch", resource._etag));
  assert.equal(changed.statusCode, 200);
  assert.equal(changed.resource.n, 1);
});

test("header and body must name the same key", async () => {
  const pk = unique("pk");
  await context.container.items.create({ id: "1", pk });
  const error = await fails(
    context.container.item("1", pk).replace({ id: "1", pk: "other" }),
    400,
    1001,
  );
  assert.match(error.message, /doesn't match partition key field values specified in the document/);
});

test("numbers and texts survive", async () => {
  const pk = unique("pk");
  const value = [0, -1, 1.5, 1e21, 2 ** 53 - 1, 0.1, '\u2028\u0001"\\', "😀", true, null, {}, []];
  await context.container.items.create({ id: "1", pk, value });
  assert.deepEqual((await context.container.item("1", pk).read()).resource.value, value);
});

test("an item over two megabytes is refused", async () => {
  const text = "x".repeat(2 * 1024 * 1024);
  const error = await fails(context.container.items.create({ id: "1", pk: "big", text }), 413);
  assert.equal(error.body.code, "RequestEntityTooLarge");
});

test("ttl", async () => {
  const container = await newContainer(context, { defaultTtl: -1 });
  await container.items.create({ id: "1", pk: "a", ttl: 1 });
  await container.items.create({ id: "2", pk: "a" });
  const deadline = Date.now() + 30_000;
  let status = 200;
  while (status === 200 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    status = (await container.item("1", "a").read()).statusCode;
  }
  assert.equal(status, 404);
  assert.equal((await container.item("2", "a").read()).statusCode, 200);
  for (const ttl of [null, 0, -10, "1"]) {
    await fails(container.items.create({ id: "3", pk: "a", ttl }), 400);
  }
});

test("unique keys", async () => {
  const uniqueKeyPolicy = { uniqueKeys: [{ paths: ["/u"] }] };
  const container = await newContainer(context, { uniqueKeyPolicy });
  await container.items.create({ id: "1", pk: "a", u: 1 });
  await fails(container.items.create({ id: "2", pk: "a", u: 1 }), 409);
  await container.items.create({ id: "3", pk: "b", u: 1 });
  await container.items.create({ id: "4", pk: "a" });
  await fails(container.items.create({ id: "5", pk: "a" }), 409);
  const operations = [{ op: "set", path: "/u", value: 1 }];
  await fails(container.item("4", "a").patch(operations), 409);
});
