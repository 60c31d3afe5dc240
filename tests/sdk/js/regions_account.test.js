// Which regions a client is told of, and where its requests go then.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ASIA, NORTH, WEST, startAccount } from "./regions.js";
import { fails, unique } from "./setup.js";

let account;

before(async () => {
  // Left alone, the others would replace a write region that stands still for some seconds.
  account = await startAccount([WEST, NORTH, ASIA], "--service-managed-failover", "off");
});
after(() => account?.stop());

test("every region lists all of them in order", async () => {
  const expected = account.server.regions.map(({ name, endpoint }) => ({
    name,
    databaseAccountEndpoint: endpoint,
  }));
  for (const at of [WEST, NORTH, ASIA]) {
    const { resource } = await account.client([], { at }).getDatabaseAccount();
    assert.deepEqual(resource.readableLocations, expected);
    assert.deepEqual(resource.writableLocations, expected.slice(0, 1));
    assert.equal(resource.consistencyPolicy, "Session");
  }
});

const PLACES = [
  { preferred: [], region: WEST },
  { preferred: [NORTH, WEST], region: NORTH },
  { preferred: [ASIA, NORTH], region: ASIA },
  { preferred: ["northeurope"], region: NORTH },
  { preferred: ["East US 2", ASIA], region: ASIA },
  { preferred: ["East US 2"], region: WEST },
  { preferred: [NORTH, ASIA], excludedLocations: [NORTH], region: ASIA },
  { preferred: [NORTH], excludedLocations: [NORTH, WEST], region: ASIA },
];

for (const { preferred, excludedLocations = [], region } of PLACES) {
  const title = `[${preferred}] without [${excludedLocations}] reads in ${region}`;
  test(`${title} and writes in ${WEST}`, async () => {
    const { container, trace } = account.watched(preferred);
    const pk = unique("pk");
    const { item } = await container.items.create({ id: "1", pk, n: 1 });
    await item.replace({ id: "1", pk, n: 2 });
    await item.patch([{ op: "incr", path: "/n", value: 1 }]);
    await container.items.upsert({ id: "2", pk });
    await container.items.batch([{ operationType: "Delete", id: "2" }], pk);
    assert.deepEqual(trace.take(), ["201", "200", "200", "201", "200"].map((s) => `${WEST} ${s}`));

    await account.waitEven();
    const options = { excludedLocations };
    assert.equal((await item.read(options)).resource.n, 3);
    const { resources } = await container.items
      .query("SELECT * FROM c", { partitionKey: pk, ...options })
      .fetchAll();
    assert.equal(resources.length, 1);
    assert.deepEqual(new Set(trace.take()), new Set([`${region} 200`]));
  });
}

test("a client without discovery stays where it was sent and hears why it cannot write", async () => {
  const connectionPolicy = { enableEndpointDiscovery: false };
  const { container, trace } = account.watched([], { at: NORTH, connectionPolicy });
  await fails(container.items.create({ id: "1", pk: unique("pk") }), 403, 3);
  assert.deepEqual(trace.take(), [`${NORTH} 403/3`]);
});
