// Patch: six operations, conditions and limits.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fails, suite, unique, withoutSystem } from "./setup.js";

const context = suite();

async function fresh() {
  const pk = unique("pk");
  const body = { id: "1", pk, a: 1, list: [1, 2, 3], deep: { b: 5 } };
  const { item } = await context.container.items.create(body);
  return { item, body };
}

const CASES = [
  ["add", { op: "add", path: "/n", value: 1 }, { n: 1 }],
  ["add into an array", { op: "add", path: "/list/0", value: 9 }, { list: [9, 1, 2, 3] }],
  ["append", { op: "add", path: "/list/-", value: 9 }, { list: [1, 2, 3, 9] }],
  ["set", { op: "set", path: "/list/0", value: 9 }, { list: [9, 2, 3] }],
  ["replace", { op: "replace", path: "/deep/b", value: null }, { deep: { b: null } }],
  ["remove", { op: "remove", path: "/deep/b" }, { deep: {} }],
  ["incr", { op: "incr", path: "/a", value: 2.5 }, { a: 3.5 }],
  ["incr creates", { op: "incr", path: "/n", value: -1 }, { n: -1 }],
  ["move", { op: "move", from: "/deep/b", path: "/a" }, { a: 5, deep: {} }],
];

for (const [name, operation, expected] of CASES) {
  test(name, async () => {
    const { item, body } = await fresh();
    const patched = await item.patch([operation]);
    assert.equal(patched.statusCode, 200);
    assert.deepEqual(withoutSystem(patched.resource), { ...body, ...expected });
    assert.deepEqual((await item.read()).resource, patched.resource);
  });
}

test("the object form with a condition", async () => {
  const { item } = await fresh();
  const operations = [{ op: "incr", path: "/a", value: 1 }];
  const patched = await item.patch({ operations, condition: "from c where c.a = 1" });
  assert.equal(patched.resource.a, 2);
  await fails(item.patch({ operations, condition: "from c where c.a = 1" }), 412, 1110);
  await fails(item.patch({ operations, condition: "what" }), 400);
});

const FAILURES = [
  { op: "replace", path: "/none", value: 1 },
  { op: "remove", path: "/none" },
  { op: "move", from: "/none", path: "/a" },
  { op: "incr", path: "/list", value: 1 },
  { op: "add", path: "/list/9", value: 1 },
  { op: "set", path: "/pk", value: "x" },
  { op: "set", path: "/id", value: "x" },
  { op: "set", path: "/_etag", value: "x" },
];

for (const operation of FAILURES) {
  test(`${operation.op} ${operation.from ?? operation.path} is refused`, async () => {
    const { item } = await fresh();
    const { resource } = await item.read();
    await fails(item.patch([operation]), 400);
    assert.deepEqual((await item.read()).resource, resource);
  });
}

test("eleven operations are too many", async () => {
  const { item } = await fresh();
  await fails(item.patch(Array(11).fill({ op: "incr", path: "/a", value: 1 })), 400);
});

test("a missing item", async () => {
  const operations = [{ op: "set", path: "/a", value: 1 }];
  await fails(context.container.item("none", "nobody").patch(operations), 404);
});
