// A query that cannot run says why, from the query itself and from its plan.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fails } from "./setup.js";
import { EVERY_WAY, HOT, mixedSuite, rows } from "./mixed.js";

const context = mixedSuite();
const WAYS = { ...EVERY_WAY, "the server inside one key": HOT };
const CASES = [
  ["SELEC * FROM c", "SC1001"],
  ["SELECT * FROM c WHERE", "SC1002"],
  ["SELECT * FROM c WHERE x.a = 1", "SC2001"],
  ["SELECT VALUE BADFUNC(c.a) FROM c", "SC2005"],
  ["SELECT * FROM c GROUP BY c.a", "SC2041"],
  ["SELECT VALUE ABS() FROM c", "SC2050"],
  ["SELECT VALUE SUM(COUNT(1)) FROM c", "SC2101"],
  ["SELECT c.n FROM c GROUP BY c.g", "SC2102"],
  ["SELECT * FROM c WHERE EXISTS(SELECT TOP 1 * FROM t IN c.tags)", "SC2203"],
  ["SELECT * FROM c ORDER BY LOWER(c.g)", "2206"],
];

for (const [way, options] of Object.entries(WAYS)) {
  for (const [query, code] of CASES) {
    test(`${query}: ${code}, by ${way}`, async () => {
      const error = await fails(rows(context.mixed, query, options), 400);
      assert.match(error.message, new RegExp(`\\b${code}\\b`));
    });
  }
}
