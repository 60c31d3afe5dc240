// Stored procedures: life cycle, arguments, bodies, logs, failures.

import assert from "node:assert/strict";
import { test } from "node:test";
import { charge, fails, ids, newContainer, suite, unique } from "./setup.js";

const context = suite();

const KINDS = {
  storedProcedures: { one: "storedProcedure", more: {} },
  triggers: { one: "trigger", more: { triggerType: "Pre", triggerOperation: "All" } },
  userDefinedFunctions: { one: "userDefinedFunction", more: {} },
};

/** Registers a procedure and runs it. */
async function run(body, params, options) {
  const { storedProcedure } = await context.container.scripts.storedProcedures.create({
    id: unique("s"),
    body,
  });
  return storedProcedure.execute("p", params, options);
}

for (const [kind, { one, more }] of Object.entries(KINDS)) {
  test(`life cycle of ${kind}`, async () => {
    const { scripts } = await newContainer(context);
    const feed = scripts[kind];
    const body = "serverScript() { var x = 10; }";
    const { resource } = await feed.create({ id: "s1", body, ...more });
    assert.equal(resource.body, body);
    assert.equal(resource.triggerType, more.triggerType);
    await fails(feed.create({ id: "s1", body, ...more }), 409);
    await feed.create({ id: "s2", body: () => {}, ...more });
    const handle = scripts[one]("s1");
    assert.deepEqual((await handle.read()).resource, resource);
    assert.deepEqual(ids((await feed.readAll().fetchAll()).resources), ["s1", "s2"]);
    const paged = feed.readAll({ maxItemCount: 1 });
    assert.equal((await paged.fetchNext()).resources.length, 1);
    const query = {
      query: "SELECT * FROM r WHERE r.id = @id",
      parameters: [{ name: "@id", value: "s2" }],
    };
    assert.deepEqual(ids((await feed.query(query).fetchAll()).resources), ["s2"]);
    const renamed = await handle.replace({ id: "s3", body, ...more });
    assert.equal(renamed.resource._rid, resource._rid);
    await fails(handle.read(), 404);
    assert.equal((await scripts[one]("s3").delete()).statusCode, 204);
    assert.deepEqual(ids((await feed.readAll().fetchAll()).resources), ["s2"]);
  });
}

test("a body is required", () =>
  fails(context.container.scripts.storedProcedures.create({ id: "s", body: "" }), 400));

for (const [body, params, expected] of [
  [() => getContext().getResponse().setBody(999), undefined, 999],
  [(x) => getContext().getResponse().setBody("a" + x), ["so"], "aso"],
  [(a, b) => __.response.setBody([b, a]), [{ x: [1] }, "é ★"], ["é ★", { x: [1] }]],
  [
    function named() {
      for (let i = 0; i < 10; i++) getContext().getResponse().appendValue("Body", i);
    },
    [],
    "0123456789",
  ],
]) {
  test(`${JSON.stringify(expected)} comes back`, async () => {
    const answer = await run(body, params);
    assert.deepEqual(answer.resource, expected);
    assert.ok(charge(answer) > 0);
    assert.equal(answer.headers["x-ms-documentdb-script-log-results"], undefined);
  });
}

test("a body that is never set", async () => {
  const { resource, statusCode } = await run(() => {});
  assert.equal(statusCode, 200);
  assert.ok(!resource);
});

test("logs", async () => {
  const body = (x) => console.log("The value of x is %s.", x);
  const { headers } = await run(body, [1], { enableScriptLogging: true });
  const log = headers["x-ms-documentdb-script-log-results"];
  assert.equal(decodeURIComponent(log), "The value of x is 1.");
});

test("failures", async () => {
  await fails(run("function ( {"), 400, 65535);
  const thrown = await fails(
    run(() => {
      throw new Error(417, "seventeen");
    }),
    400,
    417,
  );
  assert.match(thrown.message, /Exception = Error: seventeen/);
  const { scripts } = context.container;
  await fails(scripts.storedProcedure("none").execute("p"), 404);
});

test("a run is one transaction", async () => {
  const body = (fail) => {
    for (const id of ["t1", "t2"]) __.createDocument(__.getSelfLink(), { id, pk: "p" });
    if (fail) throw new Error("undo");
  };
  await fails(run(body, [true]), 400);
  assert.equal((await context.container.item("t1", "p").read()).statusCode, 404);
  await run(body, [false]);
  assert.equal((await context.container.item("t2", "p").read()).statusCode, 200);
});

test("promises", async () => {
  const body = async function () {
    const read = (id) =>
      new Promise((resolve, reject) => {
        __.readDocument(`${__.getAltLink()}/docs/${id}`, (error, item) =>
          error ? reject(error) : resolve(item),
        );
      });
    try {
      const item = await read("promised");
      __.response.setBody(item.n);
    } catch (error) {
      getContext().abort(error);
    }
  };
  await fails(run(body), 400);
  await context.container.items.create({ id: "promised", pk: "p", n: 7 });
  assert.equal((await run(body)).resource, 7);
});
