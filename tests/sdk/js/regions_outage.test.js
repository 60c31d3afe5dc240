// A region is lost without warning and comes back later.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ASIA, NORTH, WEST, startAccount, waitUntil } from "./regions.js";
import { fails } from "./setup.js";

/** The SDK looks at the account again after five minutes; a test has less time. */
const OFTEN = { enableBackgroundEndpointRefreshing: true, endpointRefreshRateInMs: 200 };

async function withAccount(names, work) {
  const account = await startAccount(names);
  try {
    await work(account);
  } finally {
    await account.stop();
  }
}

async function eventuallyWrites(container, item) {
  await waitUntil(async () => {
    try {
      await container.items.upsert(item);
      return true;
    } catch (error) {
      assert.equal(error.code, 503, error.message);
      return false;
    }
  });
}

test("reads go on in the next region, and in the first when it is back", async () => {
  await withAccount([WEST, NORTH], async (account) => {
    const { container, trace } = account.watched([WEST, NORTH]);
    const { item } = await container.items.create({ id: "1", pk: "a" });
    await account.waitEven();
    await account.takeDown(WEST);
    trace.take();
    assert.equal((await item.read()).resource.id, "1");
    assert.deepEqual(trace.take(), [`${WEST} 503`, `${NORTH} 200`]);
    await fails(container.items.create({ id: "2", pk: "a" }), 503);
    await account.bringUp(WEST);
    trace.take();
    // It refuses writes until it has heard that no other region took its place.
    await container.items.create({ id: "2", pk: "a" });
    await item.read();
    assert.deepEqual(trace.take().slice(-2), [`${WEST} 201`, `${WEST} 200`]);
  });
});

for (const [names, who] of [
  [[WEST, NORTH, ASIA], "three regions choose another write region by themselves"],
  [[WEST, NORTH], "two regions wait for their operator"],
]) {
  test(who, async () => {
    await withAccount(names, async (account) => {
      const { container, trace } = account.watched([NORTH], { at: NORTH, connectionPolicy: OFTEN });
      const { item } = await container.items.create({ id: "1", pk: "a" });
      await account.waitEven();
      await account.takeDown(WEST);
      if (names.length === 2) {
        await fails(container.items.create({ id: "2", pk: "a" }), 503);
        assert.equal((await account.report()).writeRegion, WEST);
        await account.failover(NORTH, { forced: true });
      }
      await eventuallyWrites(container, { id: "2", pk: "a" });
      assert.equal((await item.read()).resource.id, "1");

      await account.bringUp(WEST);
      await account.waitEven(...names);
      await account.waitAnswer(WEST, 200);
      assert.equal((await account.state(WEST)).state, "read");
      const back = account.watched([WEST]);
      assert.equal((await back.container.item("2", "a").read()).resource.id, "2");
      assert.deepEqual(back.trace.take(), [`${WEST} 200`]);
      trace.take();
    });
  });
}
