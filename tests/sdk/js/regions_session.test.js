// Sessions over regions: tokens, and what this SDK makes of a region that is behind.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { NORTH, WEST, startAccount } from "./regions.js";
import { unique } from "./setup.js";

let account;

before(async () => {
  account = await startAccount([WEST, NORTH]);
});
after(() => account?.stop());

/** Runs `work` with an item that is 1 in North Europe and 2 only where it was written. */
async function behind(options, work) {
  const pk = unique("pk");
  const { container, trace } = account.watched([NORTH, WEST], options);
  const { item } = await container.items.create({ id: "1", pk, n: 1 });
  await account.waitEven();
  await account.paused(WEST, NORTH, async () => {
    const { headers } = await item.replace({ id: "1", pk, n: 2 });
    trace.take();
    await work({ item, trace, pk, sessionToken: headers["x-ms-session-token"] });
  });
  await account.waitEven();
  assert.equal((await item.read()).resource.n, 2);
  assert.deepEqual(trace.take(), [`${NORTH} 200`]);
}

test("a region that is behind does not answer a session that is ahead", async () => {
  await behind({ consistencyLevel: "Session" }, async ({ item, trace }) => {
    const { resource } = await item.read();
    // This version of the SDK gives the session up, and asks again where it was.
    assert.deepEqual(trace.take(), [`${NORTH} 404/1002`, `${NORTH} 200`]);
    assert.equal(resource.n, 1);
  });
});

test("a session reads its writes where they were written", async () => {
  await behind({ consistencyLevel: "Session" }, async ({ item, trace }) => {
    const { resource } = await item.read({ excludedLocations: [NORTH] });
    assert.deepEqual(trace.take(), [`${WEST} 200`]);
    assert.equal(resource.n, 2);
  });
});

test("a token takes a session to another client", async () => {
  await behind({}, async ({ pk, sessionToken }) => {
    const other = account.watched([NORTH]);
    const item = other.container.item("1", pk);
    assert.equal((await item.read()).resource.n, 1);
    assert.deepEqual(other.trace.take(), [`${NORTH} 200`]);
    await item.read({ sessionToken });
    assert.equal(other.trace.take()[0], `${NORTH} 404/1002`);
    const near = account.watched([WEST]);
    assert.equal((await near.container.item("1", pk).read({ sessionToken })).resource.n, 2);
    assert.deepEqual(near.trace.take(), [`${WEST} 200`]);
  });
});

test("weaker levels read what the region has", async () => {
  for (const consistencyLevel of ["Eventual", "ConsistentPrefix"]) {
    await behind({ consistencyLevel }, async ({ item, trace, sessionToken }) => {
      assert.equal((await item.read()).resource.n, 1);
      assert.equal((await item.read({ sessionToken })).resource.n, 1);
      assert.deepEqual(trace.take(), [`${NORTH} 200`, `${NORTH} 200`]);
    });
  }
});
