// Enforced throughput: clients wait as they are told, and in the end everything is there.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startServer } from "./server.js";
import { charge, connect, fails } from "./setup.js";

const RATE = 400;
const RANGES = 3;
const text = "x".repeat(1000);
let server, client, database;

before(async () => {
  server = await startServer({ throughput: "on" });
  client = connect(server);
  ({ database } = await client.databases.create({ id: "db" }));
});

after(async () => {
  client?.dispose();
  await server?.stop();
});

async function limited(id, offerThroughput = RATE) {
  const definition = { id, partitionKey: { paths: ["/pk"], version: 2 } };
  const { container } = await database.containers.create(definition, { offerThroughput });
  return container;
}

test("a flood of writes is slowed down and nothing is lost", async () => {
  const container = await limited("flooded");
  const begun = performance.now();
  let next = 0;
  let sum = 0;
  const writer = async () => {
    while (next < 250) {
      const n = next++;
      sum += charge(await container.items.create({ id: `${n}`, pk: `k${n % 7}`, text }));
    }
  };
  await Promise.all(Array.from({ length: 16 }, writer));
  const seconds = (performance.now() - begun) / 1000;
  // The first second began with the container and may be nearly over, so two budgets are there at once;
  // the last writes overdraw a little.
  assert.ok(seconds > sum / RATE - 2.5, `${seconds} s for ${sum} RU`);
  const { resources } = await container.items.query("SELECT VALUE c.id FROM c").fetchAll();
  assert.equal(new Set(resources).size, 250);
});

test("a bulk load runs at the rate of its container", async () => {
  const container = await limited("bulk");
  const operations = Array.from({ length: 400 }, (_, n) => ({
    operationType: "Create",
    partitionKey: `k${n % 7}`,
    resourceBody: { id: `${n}`, pk: `k${n % 7}`, text },
  }));
  const begun = performance.now();
  const results = await container.items.executeBulkOperations(operations);
  const seconds = (performance.now() - begun) / 1000;
  assert.deepEqual([...new Set(results.map((row) => row.response?.statusCode))], [201]);
  const sum = results.reduce((total, row) => total + row.response.requestCharge, 0);
  const message = `${seconds} s for ${sum} RU`;
  assert.ok(sum > 4 * RATE, message);
  assert.ok(seconds > sum / RATE - 2.5, message);
  // A machine with much to do needs longer; the SDK sleeps once for each operation that is refused.
  assert.ok(seconds < (3 * sum) / RATE + 5, message);
});

// Each physical partition has a third of the rate. The SDK sleeps once for each refused operation, one
// after the other, so refusals of one partition must not slow down the others.
test("a bulk load over three physical partitions runs at their rate", async (t) => {
  const rate = RANGES * 4 * RATE;
  const container = await limited("wide", 18000);
  const { resource, offer } = await container.readOffer();
  await offer.replace({ ...resource, content: { offerThroughput: rate } });
  const ranges = await container.readPartitionKeyRanges().fetchAll();
  assert.equal(ranges.resources.length, RANGES);
  const operations = Array.from({ length: 5000 }, (_, n) => ({
    operationType: "Create",
    partitionKey: `k${n % 300}`,
    resourceBody: { id: `${n}`, pk: `k${n % 300}`, text },
  }));
  const begun = performance.now();
  const results = await container.items.executeBulkOperations(operations);
  const seconds = (performance.now() - begun) / 1000;
  assert.deepEqual([...new Set(results.map((row) => row.response?.statusCode))], [201]);
  const sum = results.reduce((total, row) => total + row.response.requestCharge, 0);
  const message = `${seconds.toFixed(1)} s for ${sum.toFixed(0)} RU at ${rate} RU/s`;
  t.diagnostic(message);
  assert.ok(sum > 5 * rate, message);
  assert.ok(seconds > sum / rate - 2.5, message);
  // Keys do not spread evenly: the fullest of the partitions ends last.
  assert.ok(seconds < 1.25 * (sum / rate) + 3, message);
});

test("a client that does not wait is told how long", async () => {
  const container = await limited("impatient");
  const retryOptions = { maxRetryAttemptCount: 0 };
  const impatient = connect(server, { connectionPolicy: { retryOptions } });
  const same = impatient.database("db").container(container.id);
  const flood = async () => {
    // Each is a quarter of what a second has.
    for (let n = 0; n < 100; n++) {
      await same.items.create({ id: `${n}`, pk: "a", text: text.repeat(300) });
    }
  };
  const error = await fails(flood(), 429, 3200);
  assert.ok(error.retryAfterInMs >= 1 && error.retryAfterInMs <= 2000, `${error.retryAfterInMs}`);
  // Timers of Node may fire a millisecond early.
  await new Promise((resolve) => setTimeout(resolve, error.retryAfterInMs + 10));
  assert.equal((await same.item("0", "a").read()).statusCode, 200);
  impatient.dispose();
});
