// Parameters of every type, by the server and by the client.

import assert from "node:assert/strict";
import { test } from "node:test";
import { canonical, DOCUMENTS, EVERY_WAY, mixedSuite, rows, sameRows } from "./mixed.js";

const context = mixedSuite();
const VALUES = [null, false, true, 0, -12, 0.125, "", "s3", "\u{1f600}", [], {}];
VALUES.push([1, { deep: [2] }], { y: [null, true], x: 0 });

for (const [way, options] of Object.entries(EVERY_WAY)) {
  for (const value of VALUES) {
    const parameters = [{ name: "@p", value }];

    test(`${JSON.stringify(value)}, by ${way}`, async () => {
      const same = { query: "SELECT VALUE c.n FROM c WHERE c.v = @p", parameters };
      const wanted = canonical(value);
      sameRows(
        await rows(context.mixed, same, options),
        DOCUMENTS.filter((row) => canonical(row.v) === wanted).map((row) => row.n),
      );
      const query = "SELECT c.n, @p AS p FROM c WHERE c.n < 3 ORDER BY c.n";
      assert.deepEqual(
        await rows(context.mixed, { query, parameters }, options),
        [0, 1, 2].map((n) => ({ n, p: value })),
      );
    });
  }

  test(`without a value, by ${way}`, async () => {
    const query = "SELECT VALUE c.n FROM c WHERE c.v = @p";
    assert.deepEqual(await rows(context.mixed, { query, parameters: [] }, options), []);
  });

  test(`the partition key, by ${way}`, async () => {
    const parameters = [{ name: "@p", value: "hot" }];
    const query = "SELECT VALUE COUNT(1) FROM c WHERE c.pk = @p";
    assert.deepEqual(await rows(context.mixed, { query, parameters }, options), [60]);
  });
}
