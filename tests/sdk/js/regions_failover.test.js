// Another region takes the writes while clients go on; regions come and go.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { beginning, changes, from } from "./changes.js";
import { ASIA, NORTH, WEST, startAccount, waitUntil } from "./regions.js";
import { ids } from "./setup.js";

// The SDK waits a second before each new attempt; a client that lost its way would try for two minutes.
const PAUSE_MS_MAX = 30_000;

let account;

beforeEach(async () => {
  account = await startAccount([WEST, NORTH]);
});
afterEach(() => account.stop());

/** Writes items one after the other and reads each again, until it is told to stop. */
class Traffic {
  written = [];
  pauseMs = 0;
  #stopping = false;

  constructor(preferred, pk) {
    this.pk = pk;
    const { container } = account.watched(preferred, { consistencyLevel: "Session" });
    this.ended = this.#run(container);
  }

  async #run(container) {
    for (let last = Date.now(); !this.#stopping; last = Date.now()) {
      const id = `${this.pk}-${this.written.length}`;
      const { item } = await container.items.create({ id, pk: this.pk });
      this.pauseMs = Math.max(this.pauseMs, Date.now() - last);
      this.written.push(id);
      assert.ok((await item.read()).statusCode);
    }
  }

  async goesOn() {
    const enough = this.written.length + 20;
    await Promise.race([waitUntil(() => this.written.length >= enough), this.ended]);
  }

  async stop() {
    this.#stopping = true;
    await this.ended;
  }
}

test("nothing is lost when the write region changes and changes back", async (t) => {
  const traffic = [new Traffic([WEST, NORTH], "one"), new Traffic([NORTH, WEST], "two")];
  const all = (what) => Promise.all(traffic.map(what));
  for (const region of [NORTH, WEST]) {
    await all((client) => client.goesOn());
    const { writeRegion } = await account.failover(region);
    assert.equal(writeRegion, region);
  }
  await all((client) => client.goesOn());
  await all((client) => client.stop());
  await account.waitEven();
  for (const { pk, written, pauseMs } of traffic) {
    t.diagnostic(`${pk}: ${written.length} writes, the longest took ${pauseMs} ms`);
    assert.ok(pauseMs < PAUSE_MS_MAX);
    for (const region of [WEST, NORTH]) {
      const { container } = account.watched([region]);
      const { resources } = await container.items
        .query("SELECT * FROM c", { partitionKey: pk })
        .fetchAll();
      assert.deepEqual(ids(resources), [...written].sort());
    }
  }
});

test("a client that was not there hears of the write region by itself", async () => {
  const { container, trace } = account.watched([WEST, NORTH]);
  await container.items.create({ id: "1", pk: "a" });
  await account.failover(NORTH);
  await account.waitHeard(NORTH);
  trace.take();
  await container.items.upsert({ id: "1", pk: "a" });
  assert.deepEqual(trace.take(), [`${WEST} 403/3`, `${NORTH} 200`]);
  await container.items.upsert({ id: "1", pk: "a" });
  assert.deepEqual(trace.take(), [`${NORTH} 200`]);
  const { resource } = await account.client([]).getDatabaseAccount();
  assert.deepEqual(
    resource.writableLocations.map(({ name }) => name),
    [NORTH],
  );
});

test("queries and the change feed go on in the other region", async () => {
  const { container } = account.watched([WEST]);
  for (let n = 0; n < 25; n += 1) {
    await container.items.create({ id: String(n).padStart(2, "0"), pk: "a", n: n % 5 });
  }
  const page = { partitionKey: "a", maxItemCount: 10 };
  const query = "SELECT * FROM c";
  const first = await container.items.query(query, page).fetchNext();
  const seen = await changes(container, beginning("a"));
  assert.equal(seen.found.length, 25);
  await account.failover(NORTH);
  await account.waitHeard(NORTH);

  const other = account.watched([NORTH]);
  await other.container.items.create({ id: "25", pk: "a" });
  const rest = [];
  let { continuationToken } = first;
  while (continuationToken) {
    const next = other.container.items.query(query, { ...page, continuationToken });
    const { resources, continuationToken: token } = await next.fetchNext();
    rest.push(...resources);
    continuationToken = token;
  }
  const found = [...first.resources, ...rest].map(({ id }) => Number(id));
  assert.deepEqual(found, [...Array(26).keys()]);

  const { found: late } = await changes(other.container, from(seen.continuation));
  assert.deepEqual(ids(late), ["25"]);
  assert.ok(other.trace.take().every((attempt) => attempt.startsWith(NORTH)));
});

test("a region is added, used, and left when it is removed", async () => {
  const { client, container, trace } = account.watched([ASIA, WEST]);
  const { item } = await container.items.create({ id: "1", pk: "a" });
  await item.read();
  assert.deepEqual(trace.take(), [`${WEST} 201`, `${WEST} 200`]);

  await account.add(ASIA);
  await account.waitAnswer(ASIA, 200);
  const late = account.watched([ASIA, WEST]);
  const { resource } = await late.container.item("1", "a").read();
  assert.equal(resource.id, "1");
  assert.deepEqual(late.trace.take(), [`${ASIA} 200`]);

  await account.remove(ASIA);
  await waitUntil(async () => (await account.state(ASIA)).state === "removed");
  await account.waitAnswer(ASIA, 403);
  assert.equal((await late.container.item("1", "a").read()).resource.id, "1");
  assert.deepEqual(late.trace.take(), [`${ASIA} 403/1008`, `${WEST} 200`]);
  const { resource: found } = await client.getDatabaseAccount();
  assert.deepEqual(
    found.readableLocations.map(({ name }) => name),
    [WEST, NORTH],
  );
});
