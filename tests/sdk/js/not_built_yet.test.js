// What later milestones bring says so today, instead of answering something wrong.

import assert from "node:assert/strict";
import { test } from "node:test";
import { suite } from "./setup.js";

const context = suite(async ({ container }) => {
  await container.items.create({ id: "1", pk: "p", list: [1, 2], s: "same" });
});

function refused(promise) {
  return assert.rejects(promise, (error) => [400, 501].includes(error.code));
}

for (const query of [
  "SELECT VALUE VectorDistance(c.list, [1, 2]) FROM c",
  "SELECT TOP 1 * FROM c ORDER BY VectorDistance(c.list, [1, 2])",
  "SELECT * FROM c WHERE FullTextContains(c.s, 'same')",
  "SELECT TOP 1 * FROM c ORDER BY RANK FullTextScore(c.s, 'same')",
]) {
  test(query, () => refused(context.container.items.query(query, { partitionKey: "p" }).fetchAll()));
}
