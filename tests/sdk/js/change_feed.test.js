// The change feed of latest versions: every item once, where it was changed last.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ChangeFeedStartFrom } from "@azure/cosmos";
import { beginning, changes, from, now, pages } from "./changes.js";
import { connect, ids, newContainer, suite } from "./setup.js";

const EVERYTHING = Array.from({ length: 40 }, (_, n) => `i${n}`).sort();
let wide;

const context = suite(async (context) => {
  wide = await newContainer(context, {}, { offerThroughput: 18000 });
  await fill(wide, 40);
});

async function fill(container, count) {
  for (let n = 0; n < count; n += 1) {
    await container.items.create({ id: `i${n}`, pk: `k${n % 10}`, n });
  }
}

test("from the beginning", async () => {
  const { found } = await changes(wide, beginning());
  assert.deepEqual(ids(found), EVERYTHING);
  assert.ok(found.every((row) => Number.isInteger(row._lsn)));
});

for (const maxItemCount of [1, 7, 1000]) {
  test(`in pages of ${maxItemCount}`, async () => {
    const { pages: found } = await pages(wide, beginning(undefined, { maxItemCount }));
    assert.ok(found.every((page) => page.length >= 1 && page.length <= maxItemCount));
    assert.deepEqual(ids(found.flat()), EVERYTHING);
  });
}

test("by partition key, in order", async () => {
  const { found, continuation } = await changes(wide, beginning("k3", { maxItemCount: 3 }));
  assert.deepEqual(
    found.map((row) => row.n),
    [3, 13, 23, 33],
  );
  assert.deepEqual((await changes(wide, from(continuation))).found, []);
});

test("by feed range", async () => {
  const ranges = await wide.getFeedRanges();
  assert.equal(ranges.length, 3);
  const parts = [];
  for (const range of ranges) {
    const { found } = await changes(wide, beginning(range, { maxItemCount: 4 }));
    const lsns = found.map((row) => row._lsn);
    assert.deepEqual(
      lsns,
      lsns.toSorted((a, b) => a - b),
    );
    parts.push(...found);
  }
  assert.deepEqual(ids(parts), EVERYTHING);
});

test("by a prefix of a hierarchical key", async () => {
  const partitionKey = { paths: ["/a", "/b"], version: 2, kind: "MultiHash" };
  const container = await newContainer(context, { partitionKey }, { offerThroughput: 12000 });
  for (let n = 0; n < 12; n += 1) {
    await container.items.create({ id: `${n}`, a: `a${n % 3}`, b: n });
  }
  const prefix = await changes(container, beginning(["a1"]));
  assert.deepEqual(ids(prefix.found), ["1", "10", "4", "7"]);
  const whole = await changes(container, beginning(["a1", 4]));
  assert.deepEqual(ids(whole.found), ["4"]);
});

for (const offerThroughput of [400, 18000]) {
  test(`from now, at ${offerThroughput}`, async () => {
    const container = await newContainer(context, {}, { offerThroughput });
    await fill(container, 10);
    const start = await changes(container, now());
    assert.deepEqual(start.found, []);
    await container.items.create({ id: "later", pk: "k1" });
    await container.items.upsert({ id: "i3", pk: "k3", n: 300 });
    const next = await changes(container, from(start.continuation));
    assert.deepEqual(ids(next.found), ["i3", "later"]);
    assert.deepEqual((await changes(container, from(next.continuation))).found, []);
  });
}

test("from a time", async () => {
  const container = await newContainer(context, {}, { offerThroughput: 12000 });
  await fill(container, 5);
  const { resources } = await container.items.readAll().fetchAll();
  const last = Math.max(...resources.map((row) => row._ts));
  await sleep(Math.max(0, (last + 1.1) * 1000 - Date.now()));
  for (let n = 0; n < 5; n += 1) {
    await container.items.create({ id: `late${n}`, pk: `k${n}` });
  }
  const since = async (seconds) => {
    const changeFeedStartFrom = ChangeFeedStartFrom.Time(new Date(seconds * 1000));
    return ids((await changes(container, { changeFeedStartFrom, maxItemCount: 2 })).found);
  };
  assert.deepEqual(await since(last), ["late0", "late1", "late2", "late3", "late4"]);
  assert.equal((await since(last - 3600)).length, 10);
  assert.deepEqual(await since(last + 3600), []);
});

test("updates come once, deletes not at all", async () => {
  const container = await newContainer(context);
  await fill(container, 5);
  for (let n = 0; n < 3; n += 1) {
    await container.items.upsert({ id: "i0", pk: "k0", n: 100 + n });
  }
  await container.item("i1", "k1").patch([{ op: "incr", path: "/n", value: 200 }]);
  await container.item("i2", "k2").delete();
  const { found, continuation } = await changes(container, beginning());
  assert.deepEqual(
    found.map((row) => [row.id, row.n]),
    [
      ["i3", 3],
      ["i4", 4],
      ["i0", 102],
      ["i1", 201],
    ],
  );
  await container.item("i3", "k3").delete();
  assert.deepEqual((await changes(container, from(continuation))).found, []);
});

test("every version of a key comes in order to who keeps up", async () => {
  const container = await newContainer(context, {}, { offerThroughput: 12000 });
  const seen = {};
  let where = beginning(undefined, { maxItemCount: 2 });
  for (let version = 0; version < 4; version += 1) {
    for (let n = 0; n < 8; n += 1) {
      await container.items.upsert({ id: `${n}`, pk: `k${n % 3}`, version });
    }
    const { found, continuation } = await changes(container, where);
    found.forEach((row) => (seen[row.id] ??= []).push(row.version));
    where = from(continuation, { maxItemCount: 2 });
  }
  assert.deepEqual(
    Object.values(seen),
    Array.from({ length: 8 }, () => [0, 1, 2, 3]),
  );
});

test("the continuation outlives the client, after every page", async () => {
  const seen = [];
  let where = beginning(undefined, { maxItemCount: 4 });
  for (;;) {
    const client = connect(context.server);
    const container = client.database("db").container(wide.id);
    const response = await container.items.getChangeFeedIterator(where).readNext();
    client.dispose();
    if (response.statusCode === 304) {
      break;
    }
    seen.push(...response.result);
    assert.equal(typeof response.continuationToken, "string");
    where = from(response.continuationToken, { maxItemCount: 4 });
  }
  assert.deepEqual(ids(seen), EVERYTHING);
});

test("the async iterator", async () => {
  const seen = [];
  for await (const page of wide.items.getChangeFeedIterator(beginning()).getAsyncIterator()) {
    if (page.statusCode === 304) {
      break;
    }
    assert.ok(page.requestCharge > 0 && page.sessionToken);
    seen.push(...page.result);
  }
  assert.deepEqual(ids(seen), EVERYTHING);
});

test("the older iterator of a partition key", async () => {
  const iterator = wide.items.changeFeed("k3", { startFromBeginning: true, maxItemCount: 3 });
  const seen = [];
  while (iterator.hasMoreResults) {
    const { result } = await iterator.fetchNext();
    seen.push(...(result ?? []));
    if (!result?.length) {
      break;
    }
  }
  assert.deepEqual(
    seen.map((row) => row.n),
    [3, 13, 23, 33],
  );
});

test("expired items are absent", async () => {
  const container = await newContainer(context, { defaultTtl: -1 });
  await container.items.create({ id: "short", pk: "a", ttl: 1 });
  await container.items.create({ id: "long", pk: "a" });
  await sleep(2100);
  assert.deepEqual(ids((await changes(container, beginning())).found), ["long"]);
});
