// A container deleted, and created again, under a client that still remembers the old one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { beginning, changes, from } from "./changes.js";
import { connect, fails, ids, suite, unique } from "./setup.js";

const context = suite();

async function create(id, offerThroughput) {
  const definition = { id, partitionKey: { paths: ["/pk"], version: 2 } };
  await context.database.containers.create(definition, { offerThroughput });
}

/** A container in a client of its own, and how to make it again behind that client's back. */
async function remembered(t, offerThroughput) {
  const id = unique("again");
  await create(id, offerThroughput);
  const client = connect(context.server);
  t.after(() => client.dispose());
  const recreate = async (throughput) => {
    await context.database.container(id).delete();
    await create(id, throughput);
  };
  return { container: client.database("db").container(id), recreate };
}

for (const [before, after] of [
  [400, 18000],
  [18000, 400],
]) {
  test(`from ${before} to ${after}`, async (t) => {
    const { container, recreate } = await remembered(t, before);
    for (let n = 0; n < 9; n += 1) {
      await container.items.create({ id: `old${n}`, pk: `k${n}` });
    }
    assert.equal((await container.items.query("SELECT * FROM c").fetchAll()).resources.length, 9);
    await recreate(after);
    assert.equal((await container.item("old1", "k1").read()).statusCode, 404);
    const expected = [];
    for (let n = 0; n < 20; n += 1) {
      await container.items.create({ id: `new${n}`, pk: `k${n}` });
      expected.push(`new${n}`);
    }
    expected.sort();
    assert.deepEqual(ids((await container.items.readAll().fetchAll()).resources), expected);
    const ordered = container.items.query("SELECT * FROM c ORDER BY c.id");
    assert.deepEqual(ids((await ordered.fetchAll()).resources), expected);
    assert.deepEqual(ids((await changes(container, beginning())).found), expected);
  });
}

test("under a reader of the feed", async (t) => {
  const { container, recreate } = await remembered(t, 400);
  for (let n = 0; n < 5; n += 1) {
    await container.items.create({ id: `${n}`, pk: "a" });
  }
  const { continuation } = await changes(container, beginning());
  await recreate(400);
  await container.items.create({ id: "new", pk: "a" });
  // The continuation names the container it was taken from.
  await assert.rejects(changes(container, from(continuation)), /not for the current container/);
  assert.deepEqual(ids((await changes(container, beginning())).found), ["new"]);
});

test("deleted under load, everything fails with 404", async (t) => {
  const { container } = await remembered(t, 12000);
  const work = async (worker) => {
    for (let n = 0; n < 100_000; n += 1) {
      await container.items.upsert({ id: `${worker}-${n}`, pk: `k${n % 7}` });
      if (n % 5 === 0) {
        await container.items.query("SELECT * FROM c", { partitionKey: "k1" }).fetchAll();
        await changes(container, beginning("k2"));
      }
    }
  };
  const workers = [0, 1, 2, 3].map((worker) => fails(work(worker), 404));
  await sleep(300);
  await context.database.container(container.id).delete();
  await Promise.all(workers);
});
