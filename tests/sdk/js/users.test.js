// Users, permissions and what a client may do with a resource token.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CosmosClient, PermissionMode } from "@azure/cosmos";
import { fails, ids, newContainer, suite, unique } from "./setup.js";

const context = suite();

async function allow(permissionMode, resource, more = {}) {
  const { user } = await context.database.users.create({ id: unique("user") });
  const { resource: permission } = await user.permissions.create({
    id: unique("may"),
    permissionMode,
    resource,
    ...more,
  });
  return { user, permission };
}

/** Runs with a client that knows nothing but tokens, and closes it. */
async function limited(resourceTokens, body) {
  const client = new CosmosClient({
    endpoint: context.server.endpoint,
    resourceTokens,
    connectionPolicy: { enableBackgroundEndpointRefreshing: false },
  });
  try {
    await body(client.database("db"));
  } finally {
    client.dispose();
  }
}

test("user life cycle", async () => {
  const id = unique("user");
  const { user, resource } = await context.database.users.create({ id });
  assert.equal(resource._permissions, "permissions/");
  assert.deepEqual((await user.read()).resource, resource);
  assert.ok(ids((await context.database.users.readAll().fetchAll()).resources).includes(id));
  await fails(context.database.users.create({ id }), 409);
  const renamed = await user.replace({ id: `${id}-renamed` });
  assert.equal(renamed.resource.id, `${id}-renamed`);
  await fails(user.read(), 404);
  assert.equal((await context.database.user(`${id}-renamed`).delete()).statusCode, 204);
});

test("permission life cycle", async () => {
  const { user, permission } = await allow(PermissionMode.Read, context.container.url);
  assert.equal(permission.permissionMode, PermissionMode.Read);
  assert.equal(permission.resource, context.container.url);
  const handle = user.permission(permission.id);
  const first = (await handle.read()).resource._token;
  const second = (await handle.read()).resource._token;
  assert.notEqual(first, second);
  assert.deepEqual(ids((await user.permissions.readAll().fetchAll()).resources), [permission.id]);
  const body = {
    id: permission.id,
    permissionMode: PermissionMode.All,
    resource: permission.resource,
  };
  assert.equal((await handle.replace(body)).resource.permissionMode, PermissionMode.All);
  const again = { ...body, id: unique("may") };
  await fails(user.permissions.create(again), 409);
  assert.equal((await handle.delete()).statusCode, 204);
  await fails(handle.read(), 404);
});

test("a read token reads and nothing else", async () => {
  const { permission } = await allow(PermissionMode.Read, context.container.url);
  const pk = unique("pk");
  await context.container.items.create({ id: "1", pk });
  await limited({ [context.container.url]: permission._token }, async (database) => {
    const container = database.container("items");
    assert.equal((await container.item("1", pk).read()).resource.id, "1");
    const { resources } = await container.items
      .query("SELECT * FROM c", { partitionKey: pk })
      .fetchAll();
    assert.deepEqual(ids(resources), ["1"]);
    await fails(container.item("1", pk).delete(), 403);
    await fails(container.items.create({ id: "2", pk }), 403);
    await fails(container.items.upsert({ id: "1", pk }), 403);
  });
});

test("an all token writes", async () => {
  const { permission } = await allow(PermissionMode.All, context.container.url);
  const pk = unique("pk");
  await limited({ [context.container.url]: permission._token }, async (database) => {
    const container = database.container("items");
    await container.items.create({ id: "1", pk });
    await container.items.upsert({ id: "1", pk, a: 1 });
    await container.item("1", pk).patch([{ op: "incr", path: "/a", value: 1 }]);
    assert.equal((await container.item("1", pk).delete()).statusCode, 204);
  });
});

test("a token for one item reads it and no other", async () => {
  const { container } = context;
  const pk = unique("pk");
  for (const id of ["1", "2"]) {
    await container.items.create({ id, pk });
  }
  const { permission } = await allow(PermissionMode.Read, container.item("1", pk).url, {
    resourcePartitionKey: [pk],
  });
  // The SDK looks for the token of the item or of a resource above it.
  await limited({ [container.url]: permission._token }, async (database) => {
    const limitedTo = database.container("items");
    assert.equal((await limitedTo.item("1", pk).read()).resource.id, "1");
    assert.deepEqual((await limitedTo.getPartitionKeyDefinition()).resource.paths, ["/pk"]);
    await fails(limitedTo.item("2", pk).read(), 403);
    await fails(limitedTo.item("1", pk).delete(), 403);
  });
});

test("a token does not reach another container", async () => {
  const other = await newContainer(context);
  const { permission } = await allow(PermissionMode.All, context.container.url);
  const tokens = { [other.url]: permission._token, [context.container.url]: permission._token };
  await limited(tokens, async (database) => {
    await fails(database.container(other.id).read(), 403);
    await fails(database.container(other.id).item("1", "a").read(), 403);
  });
});

test("a token for one partition key", async () => {
  const [mine, other] = [unique("pk"), unique("pk")];
  for (const pk of [mine, other]) {
    await context.container.items.create({ id: "1", pk });
  }
  const more = { resourcePartitionKey: [mine] };
  const { permission } = await allow(PermissionMode.All, context.container.url, more);
  await limited({ [context.container.url]: permission._token }, async (database) => {
    const container = database.container("items");
    assert.equal((await container.item("1", mine).read()).statusCode, 200);
    await fails(container.item("1", other).read(), 403);
  });
});

test("no credential at all is unauthorized", async () => {
  const client = new CosmosClient({
    endpoint: context.server.endpoint,
    tokenProvider: async () => "",
    connectionPolicy: { enableBackgroundEndpointRefreshing: false },
  });
  try {
    await fails(client.database("db").read(), 401);
  } finally {
    client.dispose();
  }
});
