// Session tokens: on every answer, growing with writes, enforced on reads.

import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, fails, newContainer, suite, unique } from "./setup.js";

const context = suite();

function lsn(response) {
  const match = /^(\d+):-1#(\d+)$/.exec(response.headers["x-ms-session-token"]);
  assert.ok(match, response.headers["x-ms-session-token"]);
  return Number(match[2]);
}

test("every write advances by one and reads do not", async () => {
  const container = await newContainer(context);
  const created = await container.items.create({ id: "1", pk: "a", n: 0 });
  const start = lsn(created);
  assert.equal(lsn(await created.item.read()), start);
  assert.equal(lsn(await created.item.replace({ id: "1", pk: "a", n: 1 })), start + 1);
  assert.equal(lsn(await created.item.patch([{ op: "incr", path: "/n", value: 1 }])), start + 2);
  assert.equal(lsn(await created.item.delete()), start + 3);
  assert.equal(lsn(await created.item.read()), start + 3);
});

test("answers name the container", async () => {
  const pk = unique("pk");
  const { headers } = await context.container.items.create({ id: "1", pk });
  const { resource } = await context.container.read();
  assert.equal(headers["x-ms-content-path"], resource._rid);
  assert.equal(headers["x-ms-alt-content-path"], "dbs/db/colls/items");
  assert.equal(headers["x-ms-documentdb-partitionkeyrangeid"], "0");
});

test("a read ahead of the partition is refused", async () => {
  const pk = unique("pk");
  await context.container.items.create({ id: "1", pk });
  const client = connect(context.server, { connectionPolicy: { enableEndpointDiscovery: false } });
  try {
    const item = client.database("db").container("items").item("1", pk);
    const read = await item.read({ sessionToken: "0:-1#999999999" });
    assert.equal(read.statusCode, 404);
    assert.equal(read.substatus, 1002);
  } finally {
    client.dispose();
  }
});

test("another client reads a write with its token", async () => {
  const pk = unique("pk");
  const { headers, resource } = await context.container.items.create({ id: "1", pk });
  const client = connect(context.server);
  try {
    const item = client.database("db").container("items").item("1", pk);
    const sessionToken = headers["x-ms-session-token"];
    assert.deepEqual((await item.read({ sessionToken })).resource, resource);
  } finally {
    client.dispose();
  }
});

test("a stronger level than the account's is refused", async () => {
  const pk = unique("pk");
  await context.container.items.create({ id: "1", pk });
  await fails(context.container.item("1", pk).read({ consistencyLevel: "Strong" }), 400);
  const read = await context.container.item("1", pk).read({ consistencyLevel: "Eventual" });
  assert.equal(read.statusCode, 200);
});

test("an answer of several ranges leaves a session that reads all of them", async () => {
  const wide = await newContainer(context, { throughput: 12000 });
  for (let n = 0; n < 12; n += 1) await wide.items.create({ id: "1", pk: `k${n}`, n });
  const client = connect(context.server);
  try {
    const container = client.database("db").container(wide.id);
    const { resources } = await container.items.readAll({ maxItemCount: 5 }).fetchAll();
    assert.equal(resources.length, 12);
    for (const { id, pk, n } of resources) {
      assert.equal((await container.item(id, pk).read()).resource.n, n);
    }
  } finally {
    client.dispose();
  }
});
