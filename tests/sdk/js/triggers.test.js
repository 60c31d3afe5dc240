// Triggers around writes of items, and functions inside queries.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TriggerOperation, TriggerType } from "@azure/cosmos";
import { fails, newContainer, suite } from "./setup.js";

const context = suite(async ({ container }) => {
  const { triggers } = container.scripts;
  const all = { triggerOperation: TriggerOperation.All };
  for (const letter of ["a", "b"]) {
    const body = `function () {
      const request = getContext().getRequest();
      const item = request.getBody();
      item.marks = (item.marks || "") + "${letter}";
      request.setBody(item);
    }`;
    await triggers.create({ id: letter, body, triggerType: TriggerType.Pre, ...all });
  }
  await triggers.create({
    id: "count",
    triggerType: TriggerType.Post,
    ...all,
    body: () => {
      __.readDocument(`${__.getAltLink()}/docs/count`, (error, count) => {
        if (error) throw error;
        count.n += 1;
        __.replaceDocument(count._self, count);
      });
    },
  });
  await triggers.create({
    id: "refuse",
    triggerType: TriggerType.Post,
    triggerOperation: TriggerOperation.Create,
    body: () => {
      throw new Error("not today");
    },
  });
  await container.items.create({ id: "count", pk: "p", n: 0 });
});

async function count() {
  return (await context.container.item("count", "p").read()).resource.n;
}

test("every write runs what it names", async () => {
  const { items } = context.container;
  const item = { id: "1", pk: "p" };
  const options = { preTriggerInclude: ["b", "a"], postTriggerInclude: ["count"] };
  const { resource } = await items.create(item, options);
  assert.equal(resource.marks, "ba");
  assert.equal((await items.upsert(item, { preTriggerInclude: "a" })).resource.marks, "a");
  const handle = context.container.item("1", "p");
  assert.equal((await handle.replace(item, options)).resource.marks, "ba");
  await handle.patch([{ op: "set", path: "/x", value: 1 }], { postTriggerInclude: ["count"] });
  await handle.delete({ postTriggerInclude: ["count"] });
  assert.equal(await count(), 4);
});

test("what a trigger throws undoes the write", async () => {
  const { items } = context.container;
  const before = await count();
  const item = { id: "2", pk: "p" };
  const error = await fails(items.create(item, { postTriggerInclude: ["count", "refuse"] }), 400);
  assert.match(error.message, /not today/);
  assert.equal((await context.container.item("2", "p").read()).statusCode, 404);
  assert.equal(await count(), before);
  await fails(items.create(item, { preTriggerInclude: ["none"] }), 400);
  await fails(items.upsert(item, { postTriggerInclude: ["refuse"] }), 400);
});

test("what a trigger logs is told to whoever asks", async () => {
  const { items, scripts } = context.container;
  await scripts.triggers.create({
    id: "tell",
    triggerType: TriggerType.Pre,
    triggerOperation: TriggerOperation.All,
    body: () => console.log("before the write"),
  });
  const item = { id: "told", pk: "p" };
  const options = { preTriggerInclude: ["tell"], enableScriptLogging: true };
  const told = await items.upsert(item, options);
  const log = "x-ms-documentdb-script-log-results";
  assert.equal(decodeURIComponent(told.headers[log]), "before the write");
  const quiet = await items.upsert(item, { preTriggerInclude: ["tell"] });
  assert.equal(quiet.headers[log], undefined);
});

test("functions in queries", async () => {
  const wide = await newContainer(context, {}, { offerThroughput: 18000 });
  for (let n = 0; n < 30; n++) {
    await wide.items.create({ id: String(n), pk: String(n), n });
  }
  const { userDefinedFunctions } = wide.scripts;
  await userDefinedFunctions.create({ id: "third", body: (n) => n % 3 === 0 });
  await userDefinedFunctions.create({ id: "half", body: (n) => n / 2 });
  const rows = async (query, options) =>
    (await wide.items.query(query, options).fetchAll()).resources;
  const thirds = await rows("SELECT VALUE udf.half(c.n) FROM c WHERE udf.third(c.n) ORDER BY c.n");
  assert.deepEqual(thirds, [0, 1.5, 3, 4.5, 6, 7.5, 9, 10.5, 12, 13.5]);
  assert.deepEqual(await rows("SELECT VALUE MAX(udf.half(c.n)) FROM c"), [14.5]);
  const one = "SELECT VALUE udf.half(c.n) FROM c WHERE NOT udf.third(c.n)";
  assert.deepEqual(await rows(one, { partitionKey: "4" }), [2]);
  await fails(rows("SELECT VALUE udf.none(c.n) FROM c", { partitionKey: "4" }), 400);
});
