// Enforced throughput: clients wait as they are told, and in the end everything is there.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startServer } from "./server.js";
import { charge, connect, fails } from "./setup.js";

const RATE = 400;
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

async function limited(id) {
  const definition = { id, partitionKey: { paths: ["/pk"], version: 2 } };
  const { container } = await database.containers.create(definition, { offerThroughput: RATE });
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

test("operations of a bulk request are tried again one by one", async () => {
  const container = await limited("bulk");
  // More than a second's budget; for each that is refused the SDK waits before it looks at the next.
  const operations = Array.from({ length: 90 }, (_, n) => ({
    operationType: "Create",
    partitionKey: `k${n % 7}`,
    resourceBody: { id: `${n}`, pk: `k${n % 7}`, text },
  }));
  const results = await container.items.executeBulkOperations(operations);
  assert.deepEqual([...new Set(results.map((row) => row.response?.statusCode))], [201]);
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
