// Accounts in which every region writes: what becomes of writes that did not see each other.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { NORTH, WEST, startAccount, waitUntil } from "./regions.js";
import { unique } from "./setup.js";

const BY_RANK = { mode: "LastWriterWins", conflictResolutionPath: "/rank" };
const BY_HAND = { mode: "Custom" };

let account;
let regions;

before(async () => {
  account = await startAccount([WEST, NORTH], "--multi-write");
  regions = [account.watched([WEST, NORTH]), account.watched([NORTH, WEST])];
});
after(() => account?.stop());

/** A new container, as each region has it. */
async function make(conflictResolutionPolicy) {
  const id = unique("c");
  const [west] = regions.map(({ client }) => client.database("db"));
  await west.containers.create({
    id,
    partitionKey: { paths: ["/pk"], version: 2 },
    conflictResolutionPolicy,
  });
  const both = regions.map(({ client }) => client.database("db").container(id));
  await waitUntil(async () => {
    const found = await Promise.all(both.map((one) => one.read().catch(() => null)));
    return found.every((response) => response?.statusCode === 200);
  });
  return both;
}

/** Nothing goes from one region to the other while `work` goes on. */
async function apart(work) {
  await account.link("*", "*", "cut");
  try {
    await work();
  } finally {
    await account.link("*", "*", "resume");
  }
}

async function shown(container) {
  return (await container.item("1", "p").read()).resource;
}

/** Until both regions show the same, and it is what is meant. */
async function waitAlike(both, holds) {
  await waitUntil(async () => {
    const [west, north] = await Promise.all(both.map(shown));
    return JSON.stringify(west) === JSON.stringify(north) && holds(west);
  });
}

async function conflicts(container) {
  return (await container.conflicts.readAll().fetchAll()).resources;
}

test("clients write where they are", async () => {
  const [west, north] = regions;
  west.trace.take();
  north.trace.take();
  await west.container.items.create({ id: "w", pk: "p" });
  await north.container.items.create({ id: "n", pk: "p" });
  assert.deepEqual(west.trace.take(), [`${WEST} 201`]);
  assert.deepEqual(north.trace.take(), [`${NORTH} 201`]);
});

test("the greater number wins, and a delete wins over both", async () => {
  const both = await make(BY_RANK);
  const [west, north] = both;
  await apart(async () => {
    await west.items.create({ id: "1", pk: "p", rank: 2, from: "west" });
    await north.items.create({ id: "1", pk: "p", rank: 1, from: "north" });
  });
  await waitAlike(both, (item) => item?.from === "west");
  await apart(async () => {
    await west.items.upsert({ id: "1", pk: "p", rank: 9 });
    await north.item("1", "p").delete();
  });
  await waitAlike(both, (item) => item === undefined);
  assert.deepEqual(await conflicts(west), []);
});

test("the feed lists what lost until it is deleted", async () => {
  const both = await make(BY_HAND);
  const [west, north] = both;
  await apart(async () => {
    await west.items.create({ id: "1", pk: "p", from: "west" });
    await north.items.create({ id: "1", pk: "p", from: "north" });
  });
  await waitUntil(async () => {
    const [here, there] = await Promise.all(both.map(conflicts));
    return here.length === 1 && there.length === 1;
  });
  const [conflict] = await conflicts(north);
  const winner = await shown(north);
  const lost = JSON.parse(conflict.content);
  assert.deepEqual([lost.from, winner.from].sort(), ["north", "west"]);
  assert.equal(conflict.operationType, "create");
  assert.equal(conflict.resourceId, winner._rid);
  const queried = await west.conflicts.query("SELECT * FROM c").fetchAll();
  assert.deepEqual(queried.resources, [conflict]);
  // Reading one by its id asks for a path that does not exist, in this version of the SDK.
  await west.conflict(conflict.id, "p").delete();
  await waitUntil(async () => {
    const left = await Promise.all(both.map(conflicts));
    return left.flat().length === 0;
  });
  assert.deepEqual(await shown(north), winner);
});
