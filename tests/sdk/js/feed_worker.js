// One of several processes that share the change feed of a container by leases on feed ranges.
//
//     node feed_worker.js ENDPOINT KEY DATABASE NAME
//
// This SDK has no change feed processor, so this is the least that one does: a lease is an item that
// names who reads a range until when, and how far it was read; taking and advancing one are
// conditional replaces. A lease that nobody renews is anybody's.

import { setTimeout as sleep } from "node:timers/promises";
import { from } from "./changes.js";
import { connect } from "./setup.js";

const LEASE_MS = 1500;
const [endpoint, key, databaseId, name] = process.argv.slice(2);
const database = connect({ endpoint, key }).database(databaseId);
const leases = database.container("leases");
const source = database.container("source");
const seen = database.container("seen");

/** The lease as it is now, or nothing when somebody else was faster. */
async function replace(lease, changed) {
  const accessCondition = { type: "IfMatch", condition: lease._etag };
  try {
    const body = { ...lease, ...changed, until: Date.now() + LEASE_MS };
    return (await leases.item(lease.id, lease.id).replace(body, { accessCondition })).resource;
  } catch (error) {
    if (error.code === 412) {
      return undefined;
    }
    throw error;
  }
}

/** What this worker owns, after it took what is free or one of somebody who has far more. */
async function take() {
  const { resources } = await leases.items.readAll().fetchAll();
  const isBusy = (lease) => lease.until > Date.now();
  const mine = resources.filter((lease) => isBusy(lease) && lease.owner === name);
  const others = resources.filter((lease) => isBusy(lease) && lease.owner !== name);
  let wanted = resources.filter((lease) => !isBusy(lease));
  if (wanted.length === 0 && others.length > mine.length + 1) {
    wanted = others.slice(0, 1);
  }
  const taken = await Promise.all(wanted.map((lease) => replace(lease, { owner: name })));
  return [...mine, ...taken.filter(Boolean)];
}

/** Notes one page of changes as seen, then keeps how far it came. */
async function advance(lease) {
  const iterator = source.items.getChangeFeedIterator(from(lease.continuation, { maxItemCount: 5 }));
  const { result, continuationToken } = await iterator.readNext();
  for (const change of result ?? []) {
    await seen.items.upsert({ id: `${change.id}-${change.version}`, owner: name });
  }
  await replace(lease, { continuation: continuationToken });
}

for (;;) {
  for (const lease of await take()) {
    await advance(lease);
  }
  await sleep(20);
}
