// Two processes share a change feed; one is killed, the container splits, nothing is missed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { changes, now, split } from "./changes.js";
import { newContainer, suite } from "./setup.js";

const WORKER = fileURLToPath(new URL("feed_worker.js", import.meta.url));
const ITEMS = 40;
const WAIT_MS_MAX = 60_000;

const context = suite();

async function until(what, condition) {
  for (const deadline = Date.now() + WAIT_MS_MAX; !(await condition()); await sleep(100)) {
    assert.ok(Date.now() < deadline, `waited in vain for ${what}`);
  }
}

async function rows(container) {
  return (await container.items.readAll().fetchAll()).resources;
}

test("two workers, a kill and a split", async (t) => {
  const source = await newContainer(context, { id: "source" }, { offerThroughput: 18000 });
  const keyed = { partitionKey: { paths: ["/id"], version: 2 } };
  const leases = await newContainer(context, { id: "leases", ...keyed });
  const seen = await newContainer(context, { id: "seen", ...keyed });
  for (const [number, range] of (await source.getFeedRanges()).entries()) {
    const { continuation } = await changes(source, now(range));
    await leases.items.create({ id: `${number}`, owner: "", until: 0, continuation });
  }
  const start = (name) => {
    const { endpoint, key } = context.server;
    const worker = spawn(process.execPath, [WORKER, endpoint, key, "db", name], { stdio: "ignore" });
    t.after(() => worker.kill("SIGKILL"));
    return worker;
  };
  const owners = async () => {
    const busy = (await rows(leases)).filter((lease) => lease.until > Date.now());
    return [...new Set(busy.map((lease) => lease.owner))].sort().join(" ");
  };
  const write = async (version) => {
    for (let n = 0; n < ITEMS; n += 1) {
      await source.items.upsert({ id: `i${n}`, pk: `k${n % 20}`, version });
    }
  };
  const isSeen = async (version) => {
    const found = (await rows(seen)).filter((row) => row.id.endsWith(`-${version}`));
    return found.length === ITEMS;
  };

  const doomed = start("doomed");
  const survivor = start("survivor");
  await until("both to share the leases", async () => (await owners()) === "doomed survivor");
  await write(0);
  await until("the first versions", () => isSeen(0));

  doomed.kill("SIGKILL");
  await write(1);
  await until("the survivor to take over", () => isSeen(1));
  // A lease is nobody's for a moment whenever its owner was too slow to renew it.
  await until("the survivor to own all", async () => (await owners()) === "survivor");

  await split(context.server, source, 50000, 5);
  await write(2);
  await until("changes behind the split", () => isSeen(2));
  assert.equal(survivor.exitCode, null);
});
