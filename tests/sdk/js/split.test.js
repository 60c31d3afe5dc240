// A container that splits under a client that goes on with what it was doing.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { beginning, changes, drain, from, operate, split } from "./changes.js";
import { startServer } from "./server.js";
import { connect, ids, newContainer, suite } from "./setup.js";

const KEYS = 30;
const COUNT = 90;
const EVERYTHING = Array.from({ length: COUNT }, (_, n) => `i${n}`.padEnd(4, "-")).sort();

const context = suite();

async function fill(container) {
  for (let n = 0; n < COUNT; n += 1) {
    await container.items.create({ id: `i${n}`.padEnd(4, "-"), pk: `k${n % KEYS}`, n });
  }
}

/** One physical partition, in a client of its own, which notes the statuses it gets. */
async function narrow(t, statuses = []) {
  const note = async (request, _diagnostics, next) => {
    try {
      const response = await next(request);
      statuses.push(response.code);
      return response;
    } catch (error) {
      statuses.push(error.code);
      throw error;
    }
  };
  const client = connect(context.server, { plugins: [{ on: "request", plugin: note }] });
  t.after(() => client.dispose());
  const { id } = await newContainer(context, {}, { offerThroughput: 400 });
  const container = client.database("db").container(id);
  await fill(container);
  return container;
}

async function late(container) {
  for (let n = 0; n < KEYS; n += 1) {
    await container.items.create({ id: `late${n}`, pk: `k${n}`, n: 1000 + n });
  }
  return Array.from({ length: KEYS }, (_, n) => `late${n}`);
}

test("ranges tile and name their parents", async (t) => {
  const container = await narrow(t);
  const ranges = await split(context.server, container);
  const sorted = ranges.toSorted((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1));
  assert.equal(sorted[0].minInclusive, "");
  assert.equal(sorted.at(-1).maxExclusive, "FF");
  sorted.slice(1).forEach((range, n) => assert.equal(range.minInclusive, sorted[n].maxExclusive));
  assert.ok(sorted.every((range) => range.parents.includes("0")));
});

test("an open feed goes on", async (t) => {
  const statuses = [];
  const container = await narrow(t, statuses);
  const iterator = container.items.getChangeFeedIterator(beginning(undefined, { maxItemCount: 7 }));
  const seen = [...(await iterator.readNext()).result, ...(await iterator.readNext()).result];
  await split(context.server, container);
  const more = await late(container);
  await container.items.upsert({ id: seen[0].id, pk: seen[0].pk, n: -1 });
  seen.push(...(await drain(iterator)).pages.flat());
  assert.deepEqual(ids(seen), [...EVERYTHING, ...more, seen[0].id].sort());
  assert.ok(statuses.includes(410), "the client was told of the split");
});

test("a kept continuation goes on", async (t) => {
  const container = await narrow(t);
  const whole = await changes(container, beginning());
  const [range] = await container.getFeedRanges();
  const ofRange = await changes(container, beginning(range));
  await split(context.server, container);
  const more = await late(container);
  for (const { continuation } of [whole, ofRange]) {
    const next = await changes(container, from(continuation, { maxItemCount: 4 }));
    assert.deepEqual(ids(next.found), more.toSorted());
    assert.deepEqual((await changes(container, from(next.continuation))).found, []);
  }
});

test("the feed of a key goes on", async (t) => {
  const container = await narrow(t);
  const { continuation } = await changes(container, beginning("k3"));
  await split(context.server, container);
  await late(container);
  assert.deepEqual(ids((await changes(container, from(continuation))).found), ["late3"]);
});

const ORDERED = Array.from({ length: COUNT }, (_, n) => n);

/** The rows that a query gives after its first page, and that page's; a merge gives empty pages. */
async function rest(iterator, seen) {
  while (iterator.hasMoreResults()) {
    seen.push(...((await iterator.fetchNext()).resources ?? []));
  }
  return seen;
}

const numbers = (rows) => rows.map((row) => row.n);
const QUERIES = {
  "SELECT * FROM c": (rows) => assert.deepEqual(ids(rows), EVERYTHING),
  "SELECT * FROM c WHERE c.n >= 0": (rows) => assert.deepEqual(ids(rows), EVERYTHING),
  "SELECT * FROM c ORDER BY c.n": (rows) => assert.deepEqual(numbers(rows), ORDERED),
  "SELECT * FROM c ORDER BY c.n DESC": (rows) =>
    assert.deepEqual(numbers(rows), ORDERED.toReversed()),
  "SELECT * FROM c OFFSET 0 LIMIT 1000": (rows) => assert.deepEqual(ids(rows), EVERYTHING),
  "SELECT * FROM c ORDER BY c.n OFFSET 5 LIMIT 60": (rows) =>
    assert.deepEqual(numbers(rows), ORDERED.slice(5, 65)),
  "SELECT TOP 60 * FROM c ORDER BY c.n": (rows) =>
    assert.deepEqual(numbers(rows), ORDERED.slice(0, 60)),
  "SELECT DISTINCT VALUE c.pk FROM c": (rows) => {
    assert.equal(rows.length, KEYS);
    assert.equal(new Set(rows).size, KEYS);
  },
  "SELECT DISTINCT c.n FROM c ORDER BY c.n": (rows) => assert.deepEqual(numbers(rows), ORDERED),
  "SELECT c.pk, COUNT(1) AS many FROM c GROUP BY c.pk": (rows) => {
    assert.equal(rows.length, KEYS);
    assert.ok(rows.every((row) => row.many === COUNT / KEYS));
  },
};
const WAYS = { "by default": {}, "by a plan": { forceQueryPlan: true } };
const CHANGES = {
  split: async (container) => {
    await split(context.server, container);
  },
  merge: async (container) => {
    await operate(context.server, container, { merge: ["1", "2"] });
  },
  "split and merge": async (container) => {
    await operate(context.server, container, { split: { id: "1" } });
    await operate(context.server, container, { merge: ["2", "4"] });
    await operate(context.server, container, { split: { id: "5" } });
  },
};

// The SDK asks for the range of its plan again for ever, whatever the answer is (4.10.1), so the
// server answers from what the range was.
for (const [change, carryOut] of Object.entries(CHANGES)) {
  for (const [query, check] of Object.entries(QUERIES)) {
    for (const [way, options] of Object.entries(WAYS)) {
      test(`an open query goes on across a ${change}, ${way}: ${query}`, async (t) => {
        const statuses = [];
        const container = await narrow(t, statuses);
        if (change !== "split") {
          await operate(context.server, container, { split: { id: "0" } });
        }
        const iterator = container.items.query(query, { maxItemCount: 7, ...options });
        const seen = [...((await iterator.fetchNext()).resources ?? [])];
        assert.ok(iterator.hasMoreResults(), "the query is open");
        await carryOut(container);
        check(await rest(iterator, seen));
        assert.ok(!statuses.includes(410));
        check(await rest(container.items.query(query, { maxItemCount: 7, ...options }), []));
      });
    }
  }
}

test("queries after a split", async (t) => {
  const container = await narrow(t);
  const count = async () => {
    const { resources } = await container.items.query("SELECT VALUE COUNT(1) FROM c").fetchAll();
    return resources;
  };
  assert.deepEqual(await count(), [COUNT]);
  await split(context.server, container);
  assert.deepEqual(await count(), [COUNT]);
  assert.equal((await container.items.readAll({ maxItemCount: 7 }).fetchAll()).resources.length, 90);
  const inKey = container.items.query("SELECT * FROM c", { partitionKey: "k3" });
  assert.equal((await inKey.fetchAll()).resources.length, 3);
});

test("bulk across a split", async (t) => {
  const container = await narrow(t);
  const upserts = (n) =>
    Array.from({ length: 60 }, (_, i) => ({
      operationType: "Upsert",
      partitionKey: `k${i % KEYS}`,
      resourceBody: { id: `b${i}`, pk: `k${i % KEYS}`, n },
    }));
  await container.items.executeBulkOperations(upserts(0));
  await split(context.server, container);
  const results = await container.items.executeBulkOperations(upserts(1));
  assert.deepEqual(
    results.map(({ response }) => response?.statusCode),
    Array(60).fill(200),
  );
});

test("readers and writers notice nothing", async (t) => {
  const container = await narrow(t);
  let stop = false;
  const written = [];
  const work = async (worker) => {
    for (let n = 0; !stop || n < 20; n += 1) {
      const item = { id: `w${worker}-${n}`, pk: `k${n % KEYS}`, n };
      const { resource } = await container.items.create(item);
      const read = await container.item(item.id, item.pk).read();
      assert.equal(read.resource._etag, resource._etag);
      written.push(item.id);
    }
  };
  const workers = [0, 1, 2, 3].map(work);
  await split(context.server, container);
  stop = true;
  await Promise.all(workers);
  const { found } = await changes(container, beginning());
  assert.deepEqual(ids(found), [...EVERYTHING, ...written].sort());
});

test("session tokens from before the split", async (t) => {
  const container = await narrow(t);
  const { headers } = await container.items.upsert({ id: "s", pk: "a", n: 1 });
  const sessionToken = headers["x-ms-session-token"];
  await split(context.server, container);
  const other = connect(context.server);
  t.after(() => other.dispose());
  const same = other.database("db").container(container.id);
  const { resource } = await same.item("s", "a").read({ sessionToken });
  assert.equal(resource.n, 1);
  assert.equal((await container.item("s", "a").read()).resource.n, 1);
});

test("after a restart", async () => {
  const data = mkdtempSync(join(tmpdir(), "orrery-"));
  let server = await startServer({ data });
  try {
    let client = connect(server);
    const { database } = await client.databases.create({ id: "db" });
    const definition = { id: "c", partitionKey: { paths: ["/pk"], version: 2 } };
    const { container } = await database.containers.create(definition, { offerThroughput: 400 });
    await fill(container);
    const { continuation } = await changes(container, beginning());
    const before = await split(server, container);
    await container.items.create({ id: "late", pk: "k1" });
    client.dispose();
    await server.kill();

    server = await startServer({ data });
    client = connect(server);
    const same = client.database("db").container("c");
    const after = await same.readPartitionKeyRanges().fetchAll();
    const bounds = (range) => [range.id, range.minInclusive, range.maxExclusive];
    assert.deepEqual(after.resources.map(bounds), before.map(bounds));
    // What a client asks that carries out a plan from before the split.
    const initialHeaders = { "x-ms-documentdb-partitionkeyrangeid": "0" };
    const former = await same.items.query("SELECT * FROM c", { initialHeaders }).fetchAll();
    assert.deepEqual(ids(former.resources), [...EVERYTHING, "late"].sort());
    assert.deepEqual(ids((await changes(same, from(continuation))).found), ["late"]);
    assert.deepEqual(ids((await changes(same, beginning())).found), [...EVERYTHING, "late"].sort());
    client.dispose();
  } finally {
    await server.stop();
    rmSync(data, { recursive: true, force: true });
  }
});
