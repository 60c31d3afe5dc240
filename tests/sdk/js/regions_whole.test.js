// Clients that know the account by its own address, which does not go with any region.

import assert from "node:assert/strict";
import { test } from "node:test";
import { NORTH, WEST, WHOLE, startAccount, waitUntil } from "./regions.js";

/** The SDK looks at the account again after five minutes; a test has less time. */
const OFTEN = { enableBackgroundEndpointRefreshing: true, endpointRefreshRateInMs: 200 };

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

for (const preferred of [[], [WEST, NORTH]]) {
  const how = preferred.length === 0 ? "no region" : "regions";
  test(`clients that prefer ${how} start and go on while any region is there`, async () => {
    const account = await startAccount([WEST, NORTH]);
    try {
      const connect = () => account.watched(preferred, { at: WHOLE, connectionPolicy: OFTEN });
      const old = connect();
      await old.container.items.create({ id: "1", pk: "a" });
      assert.deepEqual(old.trace.take(), [`${WEST} 201`]);
      await account.waitEven();
      await account.takeDown(WEST);
      for (const { container, trace } of [old, connect()]) {
        assert.equal((await container.item("1", "a").read()).resource.id, "1");
        assert.equal(trace.take().at(-1), `${NORTH} 200`);
      }
      await account.failover(NORTH, { forced: true });
      await eventuallyWrites(old.container, { id: "2", pk: "a" });
      const late = connect();
      await late.container.items.create({ id: "3", pk: "a" });
      assert.equal(late.trace.take().at(-1), `${NORTH} 201`);
      await account.bringUp(WEST);
      await account.waitEven(WEST, NORTH);
      for (const { container, trace } of [old, connect()]) {
        await container.items.create({ pk: "a" });
        assert.equal(trace.take().at(-1), `${NORTH} 201`);
        assert.equal((await container.item("1", "a").read()).resource.id, "1");
      }
    } finally {
      await account.stop();
    }
  });
}
