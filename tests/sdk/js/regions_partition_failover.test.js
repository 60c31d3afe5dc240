// Single partitions fail over: their items are written in another region, all others where they were.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ASIA, NORTH, WEST, startAccount, waitUntil } from "./regions.js";

let account;

before(async () => {
  account = await startAccount([WEST, NORTH, ASIA], "--per-partition-failover");
  const client = account.client([]);
  // Two partitions.
  await client.database("db").containers.create(
    { id: "wide", partitionKey: { paths: ["/pk"], version: 2 } },
    { offerThroughput: 18000 },
  );
  await account.waitEven();
});

after(() => account.stop());

/** Writes items of one partition key and says where each attempt went. */
class Writer {
  count = 0;

  constructor({ client, trace }, pk) {
    Object.assign(this, { container: client.database("db").container("wide"), trace, pk });
  }

  async write() {
    this.count += 1;
    this.trace.take();
    const item = { id: `${this.count}`, pk: this.pk, n: this.count };
    const { headers } = await this.container.items.create(item);
    const [range] = headers["x-ms-session-token"].split(":");
    this.partition = `dbs/db/colls/wide/ranges/${range}`;
    return this.trace.take();
  }

  /** Where it is read first may not be where it was written. */
  async read() {
    await account.waitNothingMissing();
    this.trace.take();
    const { resource } = await this.container.item(`${this.count}`, this.pk).read();
    assert.equal(resource.n, this.count);
    return this.trace.take();
  }
}

/** Writers of two partitions. */
async function twoPartitions(name) {
  // This client keeps no session unless it is told to.
  const watched = account.watched([WEST, NORTH, ASIA], { consistencyLevel: "Session" });
  const first = new Writer(watched, name);
  assert.deepEqual(await first.write(), [`${WEST} 201`]);
  for (let number = 0; number < 50; number += 1) {
    const other = new Writer(watched, `${name}-${number}`);
    assert.deepEqual(await other.write(), [`${WEST} 201`]);
    if (other.partition !== first.partition) {
      return [first, other, first.partition];
    }
  }
  throw new Error("all keys are in one partition");
}

test("a partition is moved and moved back", async () => {
  const [moving, staying, partition] = await twoPartitions("planned");
  await account.failover(NORTH, { partition });
  assert.deepEqual(await moving.write(), [`${WEST} 403/3`, `${NORTH} 201`]);
  for (let turn = 0; turn < 3; turn += 1) {
    assert.deepEqual(await moving.write(), [`${NORTH} 201`]);
    assert.match((await moving.read()).at(-1), / 200$/);
    assert.deepEqual(await staying.write(), [`${WEST} 201`]);
  }
  const { partitions } = await account.failover(WEST, { partition });
  assert.deepEqual(partitions, []);
  assert.equal((await moving.write()).at(-1), `${WEST} 201`);
  assert.deepEqual(await moving.write(), [`${WEST} 201`]);
  assert.deepEqual(await staying.write(), [`${WEST} 201`]);
});

test("a partition that fails is written elsewhere until it is back", async () => {
  const [failing, staying, partition] = await twoPartitions("down");
  await account.takeDown(WEST, partition);
  // Until then a write waits in the next region, but for three seconds only.
  await waitUntil(async () => (await account.report()).partitions.some(({ owner }) => owner === NORTH));
  assert.deepEqual(await failing.write(), [`${WEST} 503`, `${NORTH} 201`]);
  assert.deepEqual(await failing.write(), [`${NORTH} 201`]);
  assert.match((await failing.read()).at(-1), / 200$/);
  assert.deepEqual(await staying.write(), [`${WEST} 201`]);
  assert.deepEqual((await account.report()).partitions, [
    { partition, owner: NORTH, automatic: true, down: [WEST] },
  ]);
  await account.bringUp(WEST, partition);
  await waitUntil(async () => (await account.report()).partitions.length === 0);
  assert.equal((await failing.write()).at(-1), `${WEST} 201`);
  assert.deepEqual(await failing.write(), [`${WEST} 201`]);
  assert.match((await failing.read()).at(-1), / 200$/);
});
