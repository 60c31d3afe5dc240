// What each consistency level of an account with regions promises, and what it costs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ASIA, NORTH, WEST, startAccount, waitUntil } from "./regions.js";
import { charge, fails } from "./setup.js";

const LEVELS = ["Eventual", "ConsistentPrefix", "Session", "BoundedStaleness", "Strong"];
const VERSIONS = 20;
const DELAY_MS = 100;

async function withAccount(names, options, work) {
  const account = await startAccount(names, ...options);
  try {
    await work(account);
  } finally {
    await account.stop();
  }
}

for (const [rank, level] of LEVELS.entries()) {
  test(`an account at ${level} serves weaker requests and refuses stronger ones`, async () => {
    await withAccount([WEST, NORTH], ["--consistency", level], async (account) => {
      const { container } = account.watched([NORTH]);
      const { item } = await container.items.create({ id: "1", pk: "a" });
      await account.waitEven();
      const least = charge(await item.read({ consistencyLevel: "Eventual" }));
      const factor = rank >= LEVELS.indexOf("BoundedStaleness") ? 2 : 1;
      assert.equal(charge(await item.read()), least * factor);
      for (const [asked, consistencyLevel] of LEVELS.entries()) {
        if (asked > rank) {
          await fails(item.read({ consistencyLevel }), 400);
        } else {
          assert.equal((await item.read({ consistencyLevel })).resource.id, "1");
        }
      }
    });
  });
}

test("at strong every region has what was written, for the price of a round trip", async () => {
  // Left alone, the others would replace a write region that stands still for some seconds.
  const options = ["--consistency", "Strong", "--service-managed-failover", "off"];
  await withAccount([WEST, NORTH, ASIA], options, async (account) => {
    const writer = account.watched([WEST]);
    const readers = [account.watched([NORTH]), account.watched([ASIA])];
    for (let n = 0; n < 20; n += 1) {
      await writer.container.items.upsert({ id: "1", pk: "a", n });
      for (const { container } of readers) {
        assert.equal((await container.item("1", "a").read()).resource.n, n);
      }
    }
    await account.link("*", "*", "delay", { millis: DELAY_MS });
    // A busy machine adds to it as it likes, but not each time.
    await waitUntil(async () => {
      const begun = performance.now();
      await writer.container.items.upsert({ id: "1", pk: "a", n: 20 });
      const taken = performance.now() - begun;
      assert.ok(taken >= 2 * DELAY_MS, `${taken} ms`);
      return taken < 4 * DELAY_MS;
    });
    await account.link("*", "*", "delay", { millis: 0 });
  });
});

test("at bounded staleness writes wait for a region that is too far behind", async () => {
  const options = ["--consistency", "BoundedStaleness", "--bounded-versions", String(VERSIONS)];
  await withAccount([WEST, NORTH], options, async (account) => {
    const { resource } = await account.client([]).getDatabaseAccount();
    assert.equal(resource.consistencyPolicy, "BoundedStaleness");
    const retryOptions = { maxRetryAttemptCount: 0 };
    const impatient = account.watched([], { connectionPolicy: { retryOptions } });
    const patience = { maxRetryAttemptCount: 500, maxWaitTimeInSeconds: 60 };
    const patient = account.watched([], { connectionPolicy: { retryOptions: patience } });
    await patient.container.items.create({ id: "first", pk: "a" });
    await account.waitEven();
    let waiting;
    await account.paused(WEST, NORTH, async () => {
      let taken = 0;
      const write = () => impatient.container.items.create({ id: String(taken), pk: "a" });
      while (taken <= VERSIONS && (await write().then(() => true, is429))) {
        taken += 1;
      }
      assert.ok(taken > 0 && taken <= VERSIONS, String(taken));
      patient.trace.take();
      waiting = patient.container.items.create({ id: "late", pk: "a" });
      await waitUntil(() => patient.trace.attempts.length > 0);
    });
    assert.equal((await waiting).statusCode, 201);
    const attempts = patient.trace.take();
    assert.match(attempts[0], /429/);
    assert.equal(attempts.at(-1), `${WEST} 201`);
  });
});

function is429(error) {
  assert.equal(error.code, 429, error.message);
  return false;
}
