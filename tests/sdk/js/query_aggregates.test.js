// Aggregates and GROUP BY, finished by the server and by the client.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DOCUMENTS,
  EVERY_WAY,
  HOT,
  HOT_DOCUMENTS,
  inEveryPageSize,
  mixedSuite,
  rows,
  sameRows,
} from "./mixed.js";

const context = mixedSuite();
const WAYS = Object.entries(EVERY_WAY).map(([way, options]) => [way, options, DOCUMENTS]);
WAYS.push(["the server inside one key", HOT, HOT_DOCUMENTS]);

const sum = (values) => values.reduce((total, value) => total + value, 0);

function groups(documents, ...names) {
  const found = new Map();
  for (const row of documents) {
    const present = names.filter((name) => name in row);
    const key = Object.fromEntries(present.map((name) => [name, row[name]]));
    const text = JSON.stringify(key);
    found.set(text, found.get(text) ?? { key, members: [] });
    found.get(text).members.push(row);
  }
  return [...found.values()];
}

for (const [way, options, documents] of WAYS) {
  test(`numbers, by ${way}`, async () => {
    const prices = documents.map((row) => row.price);
    const expected = {
      "COUNT(1)": prices.length,
      "SUM(c.price)": sum(prices),
      "AVG(c.price)": sum(prices) / prices.length,
      "MIN(c.price)": Math.min(...prices),
      "MAX(c.price)": Math.max(...prices),
      "COUNTIF(c.price > 10)": prices.filter((price) => price > 10).length,
      "COUNT(c.v)": documents.filter((row) => "v" in row).length,
      "COUNT(c.no)": 0,
      "SUM(c.no)": 0,
    };
    for (const [call, value] of Object.entries(expected)) {
      const found = await inEveryPageSize(context.mixed, `SELECT VALUE ${call} FROM c`, options);
      assert.deepEqual(found, [value], call);
    }
  });

  test(`undefined results, by ${way}`, async () => {
    for (const call of ["SUM(c.v)", "AVG(c.v)", "MIN(c.v)", "MAX(c.v)", "AVG(c.no)", "MIN(c.no)"]) {
      const found = await rows(context.mixed, `SELECT VALUE ${call} FROM c`, options);
      sameRows(
        found.filter((value) => value !== undefined),
        [],
      );
    }
  });

  test(`extremes of mixed primitives, by ${way}`, async () => {
    const where = "FROM c WHERE IS_PRIMITIVE(c.v)";
    assert.deepEqual(await rows(context.mixed, `SELECT VALUE MIN(c.v) ${where}`, options), [null]);
    const strings = documents.map((row) => row.v).filter((value) => typeof value === "string");
    const last = strings.sort((a, b) => (a < b ? -1 : 1)).at(-1);
    assert.deepEqual(await rows(context.mixed, `SELECT VALUE MAX(c.v) ${where}`, options), [last]);
  });

  test(`several aggregates in one row, by ${way}`, async () => {
    const query = "SELECT COUNT(1) AS count, SUM(c.n) AS total, MIN(c.id) AS first FROM c";
    const expected = {
      count: documents.length,
      total: sum(documents.map((row) => row.n)),
      first: documents.map((row) => row.id).sort()[0],
    };
    assert.deepEqual(await inEveryPageSize(context.mixed, query, options), [expected]);
  });

  test(`groups with all aggregates, by ${way}`, async () => {
    const query =
      "SELECT c.g, COUNT(1) AS count, SUM(c.n) AS sum, AVG(c.n) AS avg, MIN(c.n) AS min, " +
      "MAX(c.id) AS max FROM c GROUP BY c.g";
    const expected = groups(documents, "g").map(({ key, members }) => ({
      ...key,
      count: members.length,
      sum: sum(members.map((row) => row.n)),
      avg: sum(members.map((row) => row.n)) / members.length,
      min: members[0].n,
      max: members.map((row) => row.id).sort().at(-1),
    }));
    sameRows(await inEveryPageSize(context.mixed, query, options), expected);
  });

  test(`groups by two keys, by ${way}`, async () => {
    const query = "SELECT c.g, c.simple, COUNT(1) AS count FROM c GROUP BY c.g, c.simple";
    const expected = groups(documents, "g", "simple").map(({ key, members }) => ({
      ...key,
      count: members.length,
    }));
    sameRows(await inEveryPageSize(context.mixed, query, options), expected);
  });

  test(`groups by every kind of value, by ${way}`, async () => {
    const query = "SELECT c.v, COUNT(1) AS count FROM c GROUP BY c.v";
    const expected = groups(documents, "v").map(({ key, members }) => ({
      ...key,
      count: members.length,
    }));
    sameRows(await inEveryPageSize(context.mixed, query, options), expected);
  });

  test(`values of groups, by ${way}`, async () => {
    const found = await rows(context.mixed, "SELECT VALUE c.g FROM c GROUP BY c.g", options);
    sameRows(
      found,
      groups(documents, "g").map(({ key }) => key.g),
    );
    const counts = await rows(context.mixed, "SELECT VALUE COUNT(1) FROM c GROUP BY c.g", options);
    sameRows(
      counts,
      groups(documents, "g").map(({ members }) => members.length),
    );
  });

  test(`TOP of groups, by ${way}`, async () => {
    const query = "SELECT TOP 3 c.g, COUNT(1) AS count FROM c GROUP BY c.g";
    const found = await inEveryPageSize(context.mixed, query, options);
    assert.equal(found.length, 3);
  });

  test(`nothing to aggregate, by ${way}`, async () => {
    const where = "FROM c WHERE c.n < 0";
    assert.deepEqual(await rows(context.mixed, `SELECT VALUE COUNT(1) ${where}`, options), [0]);
    assert.deepEqual(await rows(context.mixed, `SELECT VALUE SUM(c.n) ${where}`, options), [0]);
    const grouped = `SELECT c.g, COUNT(1) AS count ${where} GROUP BY c.g`;
    assert.deepEqual(await rows(context.mixed, grouped, options), []);
  });
}

test("items without the property are one group, of a client without options", async () => {
  const query = "SELECT c.simple, COUNT(1) AS count FROM c GROUP BY c.simple";
  const found = await rows(context.mixed, query, {});
  const without = found.filter((row) => !("simple" in row));
  const expected = DOCUMENTS.filter((row) => !("simple" in row)).length;
  assert.deepEqual(without, [{ count: expected }]);
  assert.equal(
    found.map((row) => row.count).reduce((total, count) => total + count, 0),
    DOCUMENTS.length,
  );
});
