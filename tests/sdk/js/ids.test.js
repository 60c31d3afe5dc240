// Ids that are awkward in a URL name the same item in every verb.

import assert from "node:assert/strict";
import { test } from "node:test";
import { suite } from "./setup.js";

const context = suite();

const IDS = [
  "Test",
  "This is a test",
  " Test",
  "Test ",
  "WithUnicode-é",
  "鱀鱀",
  "🌍👩‍👩‍👧",
  ",=.:~+-@()^${}[]!_",
  "a+b c",
  "100%",
  "literal%20space",
  "literal%E9%B1%80",
  "%2520",
  'say "hi"',
  "it's",
  "a&b=c;d",
  "a?b",
  "<a|b>`",
  "line\nfeed",
  "tab\there",
  "carriage\rreturn",
  "docs",
  "x".repeat(1023),
];

for (const id of IDS) {
  test(`id ${JSON.stringify(id).slice(0, 40)}`, async () => {
    const { resource } = await context.container.items.create({ id, pk: "ids", n: 0 });
    assert.equal(resource.id, id);
    const item = context.container.item(id, "ids");
    const read = await item.read();
    assert.equal(read.statusCode, 200);
    assert.deepEqual(read.resource, resource);
    assert.equal((await item.replace({ id, pk: "ids", n: 1 })).statusCode, 200);
    const patched = await item.patch([{ op: "incr", path: "/n", value: 1 }]);
    assert.equal(patched.resource.n, 2);
    assert.equal((await item.delete()).statusCode, 204);
    assert.equal((await item.read()).statusCode, 404);
  });

  test(`partition key ${JSON.stringify(id).slice(0, 40)}`, async () => {
    const { resource, item } = await context.container.items.create({ id: "key", pk: id });
    assert.deepEqual((await context.container.item("key", id).read()).resource, resource);
    await item.delete();
  });
}
