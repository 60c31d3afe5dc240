// Queries over several partition keys that the client has to merge: refused with the plan, which the client carries out.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DOCUMENTS, WHOLE, mixedSuite } from "./mixed.js";
import { connect } from "./setup.js";

const context = mixedSuite();

async function all(query, options = {}) {
  return (await context.mixed.items.query(query, options).fetchAll()).resources;
}

test("aggregates without VALUE and groups are merged by the client", async () => {
  const [row] = await all("SELECT COUNT(1) AS n, MAX(c.n) AS most FROM c");
  assert.deepEqual(row, { n: DOCUMENTS.length, most: DOCUMENTS.length - 1 });
  const groups = await all("SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g");
  assert.equal(groups.length, 7);
  assert.equal(groups.reduce((sum, group) => sum + group.n, 0), DOCUMENTS.length);
});

test("an order is merged by the client", async () => {
  const rows = await all("SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 3 LIMIT 4", { maxItemCount: 2 });
  assert.deepEqual(rows, [296, 295, 294, 293]);
});

/** The rows of a query, and what each request was: the plan, a failure, or the range and number of rows of a page. */
async function requestsOf(query, options) {
  const requests = [];
  const plugin = async (request, _diagnostics, next) => {
    if (request.method !== "POST") {
      return next(request);
    }
    const at = requests.push("plan") - 1;
    if ("x-ms-cosmos-is-query-plan-request" in request.headers) {
      return next(request);
    }
    try {
      const response = await next(request);
      const range = request.headers["x-ms-documentdb-partitionkeyrangeid"];
      requests[at] = { range, count: response.result.Documents.length };
      return response;
    } catch (error) {
      requests[at] = error.code;
      throw error;
    }
  };
  const client = connect(context.server, { plugins: [{ on: "request", plugin }] });
  try {
    const container = client.database(context.database.id).container(context.mixed.id);
    const { resources } = await container.items.query(query, options).fetchAll();
    return [resources, requests];
  } finally {
    client.dispose();
  }
}

for (const maxItemCount of [10, 50, 1000]) {
  test(`a large answer in pages of ${maxItemCount} costs the refusal, and the pages of each range`, async () => {
    const query = "SELECT * FROM c ORDER BY c.n";
    const [whole, alone] = await requestsOf(query, { ...WHOLE, maxItemCount });
    const [merged, [first, second, ...pages]] = await requestsOf(query, { maxItemCount });
    assert.equal(whole.length, DOCUMENTS.length);
    assert.equal(merged.length, DOCUMENTS.length);
    // This client asks for the plan of every query, beside the query itself.
    assert.equal(alone.length, 1 + Math.ceil(DOCUMENTS.length / maxItemCount));
    assert.deepEqual(new Set([first, second]), new Set(["plan", 400]));
    const ranges = [...new Set(pages.map(({ range }) => range))];
    assert.equal(ranges.length, 3);
    for (const range of ranges) {
      const counts = pages.filter((page) => page.range === range).map(({ count }) => count);
      const rows = counts.reduce((sum, count) => sum + count, 0);
      assert.equal(counts.length, Math.ceil(rows / maxItemCount));
    }
    // One request more, and what a range may leave over in a page of its own.
    assert.ok(2 + pages.length <= alone.length + 1 + (ranges.length - 1));
  });
}
