// The change feed of all versions and deletes, of containers that keep them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ChangeFeedMode, ChangeFeedPolicy, ChangeFeedRetentionTimeSpan } from "@azure/cosmos";
import { beginning, changes, from, now, split } from "./changes.js";
import { fails, newContainer, suite, withoutSystem } from "./setup.js";

const context = suite();
const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10));
const all = { changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes };

function summary({ metadata, current, previous }) {
  const body = current?.id ? current : previous;
  return [metadata.operationType, body.id, body.n];
}

async function startNow(container, scope) {
  const { found, continuation } = await changes(container, now(scope, all));
  assert.deepEqual(found, []);
  return continuation;
}

test("every version, and the previous image of what was deleted", async () => {
  const container = await newContainer(context, { changeFeedPolicy });
  const start = await startNow(container);
  await container.items.create({ id: "1", pk: "a", n: 1 });
  await container.items.upsert({ id: "1", pk: "a", n: 2 });
  await container.item("1", "a").replace({ id: "1", pk: "a", n: 3 });
  await container.item("1", "a").delete();
  const { found } = await changes(container, from(start, all));
  assert.deepEqual(found.map(summary), [
    ["create", "1", 1],
    ["replace", "1", 2],
    ["replace", "1", 3],
    ["delete", "1", 3],
  ]);
  assert.deepEqual(found.map(({ previous }) => previous !== undefined), [false, false, false, true]);
  assert.deepEqual(withoutSystem(found[3].previous), { id: "1", pk: "a", n: 3 });
  assert.equal(found[2].metadata.previousImageLSN, found[1].metadata.lsn);
  assert.ok(found.every(({ metadata }) => Math.abs(metadata.crts - Date.now() / 1000) < 60));
  assert.ok(found.every(({ metadata }) => !metadata.timeToLiveExpired));
});

test("expiry is marked", async () => {
  const container = await newContainer(context, { changeFeedPolicy, defaultTtl: -1 });
  let where = from(await startNow(container), all);
  await container.items.create({ id: "1", pk: "a", n: 1, ttl: 1 });
  const seen = [];
  for (const deadline = Date.now() + 60_000; seen.length < 2 && Date.now() < deadline; ) {
    const { found, continuation } = await changes(container, where);
    seen.push(...found);
    where = from(continuation, all);
    await sleep(100);
  }
  assert.deepEqual(seen.map(summary), [
    ["create", "1", 1],
    ["delete", "1", 1],
  ]);
  assert.equal(seen[1].metadata.timeToLiveExpired, true);
});

for (const maxItemCount of [1, 4, 100]) {
  test(`scopes, in pages of ${maxItemCount}`, async () => {
    const container = await newContainer(context, { changeFeedPolicy }, { offerThroughput: 18000 });
    const options = { ...all, maxItemCount };
    const everything = await startNow(container);
    const one = await startNow(container, "k1");
    const parts = [];
    for (const range of await container.getFeedRanges()) {
      parts.push(await startNow(container, range));
    }
    for (let n = 0; n < 12; n += 1) {
      await container.items.create({ id: `${n}`, pk: `k${n % 4}`, n });
    }
    for (let n = 0; n < 12; n += 2) {
      await container.item(`${n}`, `k${n % 4}`).delete();
    }
    assert.equal((await changes(container, from(everything, options))).found.length, 18);
    const inKey = await changes(container, from(one, options));
    assert.deepEqual(
      inKey.found.map((change) => summary(change)[1]),
      ["1", "5", "9"],
    );
    let count = 0;
    for (const part of parts) {
      count += (await changes(container, from(part, options))).found.length;
    }
    assert.equal(count, 18);
  });
}

test("across a split", async () => {
  const container = await newContainer(context, { changeFeedPolicy }, { offerThroughput: 400 });
  const iterator = container.items.getChangeFeedIterator(now(undefined, all));
  assert.equal((await iterator.readNext()).statusCode, 304);
  for (let n = 0; n < 20; n += 1) {
    await container.items.create({ id: `${n}`, pk: `k${n}`, n: 0 });
  }
  await split(context.server, container);
  for (let n = 0; n < 20; n += 1) {
    await container.items.upsert({ id: `${n}`, pk: `k${n}`, n: 1 });
    await container.item(`${n}`, `k${n}`).delete();
  }
  const seen = {};
  for (;;) {
    const { statusCode, result } = await iterator.readNext();
    if (statusCode === 304) {
      break;
    }
    result.forEach((change) => {
      const [kind, id] = summary(change);
      (seen[id] ??= []).push(kind);
    });
  }
  const expected = Array.from({ length: 20 }, () => ["create", "replace", "delete"]);
  assert.deepEqual(Object.values(seen), expected);
});

test("needs a retention, and a start within it", async () => {
  await fails(changes(context.container, now(undefined, all)), 400);
  const container = await newContainer(context, { changeFeedPolicy });
  const [range] = await container.getFeedRanges();
  for (const scope of [undefined, range, "a"]) {
    const error = await fails(changes(container, beginning(scope, all)), 400);
    assert.match(
      error.message,
      /You must read the change feed from within the retention period\./,
    );
  }
  const { resource } = await container.read();
  assert.equal(resource.changeFeedPolicy.retentionDuration, 10);
});
