// Built-in functions: projected, filtering, and through a plan.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DOCUMENTS, EVERY_WAY, HOT, mixedSuite, rows, sameRows } from "./mixed.js";

const context = mixedSuite();

/** `undefined` leaves no row. */
const VALUES = [
  ["CONCAT('a', 'b')", "ab"],
  ["CONCAT('a', 1)", undefined],
  ["CONTAINS('AdventureWorks', 'works', true)", true],
  ["INDEX_OF('AdventureWorks', 'Works')", 9],
  ["REGEXMATCH('abcd', 'aB c', 'ix')", true],
  ["StringSplit('Road Bike', ' ')", ["Road", "Bike"]],
  ["ToString({'a': [1]})", '{"a":[1]}'],
  ["StringToNumber(' 60 ')", 60],
  ["ROUND(-6.5)", -7],
  ["POWER(2, null)", undefined],
  ["IntMod(-12, -5)", -2],
  ["ARRAY_CONTAINS([{'a': 1, 'b': 2}], {'a': 1}, true)", true],
  ["ARRAY_SLICE([1, 2, 3, 4], -3)", [2, 3, 4]],
  ["SetUnion([1, 2, 2], [3])", [1, 2, 3]],
  ["IS_DEFINED(undefined)", false],
  ["IIF(123, 'x', 'y')", "y"],
  ["DateTimeAdd('mm', 1, '2020-07-03T00:00:00.0000000')", "2020-08-03T00:00:00.0000000Z"],
  ["TicksToDateTime(-116444736000000000)", "1601-01-01T00:00:00.0000000Z"],
  ["IS_DATETIME(GetCurrentDateTime())", true],
  ["ST_ISVALID({'type': 'Point', 'coordinates': [0, 91]})", false],
  ["undefined ?? 'x'", "x"],
  ["'abc' LIKE '_b[a-d]'", true],
];

for (const [expression, expected] of VALUES) {
  test(expression, async () => {
    const found = await rows(context.mixed, `SELECT VALUE ${expression}`, HOT);
    assert.deepEqual(found, expected === undefined ? [] : [expected]);
  });
}

const CONDITIONS = {
  "IS_DEFINED(c.v)": ({ v }) => v !== undefined,
  "IS_NULL(c.v)": ({ v }) => v === null,
  "IS_NUMBER(c.v) AND ABS(c.v) > 2": ({ v }) => typeof v === "number" && Math.abs(v) > 2,
  "STARTSWITH(c.v, 's1')": ({ v }) => typeof v === "string" && v.startsWith("s1"),
  "c.v LIKE 's_'": ({ v }) => typeof v === "string" && /^s.$/.test(v),
  "ARRAY_LENGTH(c.tags) >= 2": ({ tags }) => tags.length >= 2,
  "ARRAY_CONTAINS(c.tags, {'name': 't2'}, true)": ({ tags }) => tags.length > 2,
  "(c.v ?? 'none') = 'none'": ({ v }) => v === undefined,
};

for (const [way, options] of Object.entries(EVERY_WAY)) {
  for (const [condition, keep] of Object.entries(CONDITIONS)) {
    test(`WHERE ${condition}, by ${way}`, async () => {
      const query = `SELECT VALUE c.n FROM c WHERE ${condition}`;
      const found = await rows(context.mixed, query, options);
      sameRows(
        found,
        DOCUMENTS.filter(keep).map((row) => row.n),
      );
    });
  }
}
