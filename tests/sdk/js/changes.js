// Short words for the change feed, and for containers that split.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ChangeFeedStartFrom, StatusCodes } from "@azure/cosmos";
import { connect } from "./setup.js";

const SPLIT_MS_MAX = 60_000;

/** Everything there is now, page by page, and the continuation after it. */
export async function pages(container, options = {}) {
  return drain(container.items.getChangeFeedIterator(options));
}

/** What an iterator still has now. */
export async function drain(iterator) {
  const found = [];
  for (;;) {
    const response = await iterator.readNext();
    if (response.statusCode === StatusCodes.NotModified) {
      return { pages: found, continuation: response.continuationToken };
    }
    found.push(response.result);
  }
}

export async function changes(container, options = {}) {
  const { pages: found, continuation } = await pages(container, options);
  return { found: found.flat(), continuation };
}

export function beginning(scope, more = {}) {
  return { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(scope), ...more };
}

export function now(scope, more = {}) {
  return { changeFeedStartFrom: ChangeFeedStartFrom.Now(scope), ...more };
}

export function from(continuation, more = {}) {
  return { changeFeedStartFrom: ChangeFeedStartFrom.Continuation(continuation), ...more };
}

/**
 * Raises the throughput and waits for the split with clients of its own: the client under test is
 * not told that its ranges are gone.
 */
export async function split(server, container, throughput = 25000, partitions = 3) {
  const other = connect(server);
  try {
    const same = other.database(container.database.id).container(container.id);
    const { resource, offer } = await same.readOffer();
    await offer.replace({ ...resource, content: { offerThroughput: throughput } });
    const deadline = Date.now() + SPLIT_MS_MAX;
    for (;;) {
      const { resources } = await same.readPartitionKeyRanges().fetchAll();
      if (resources.length >= partitions) {
        return resources;
      }
      assert.ok(Date.now() < deadline, "the container did not split");
      await sleep(50);
    }
  } finally {
    other.dispose();
  }
}

/** Asks for a split or a merge of physical partitions, as an operator does. */
export async function operate(server, container, body) {
  const link = `dbs/${container.database.id}/colls/${container.id}`;
  const date = new Date().toUTCString();
  const signed = `post\npartitions\n${link}\n${date.toLowerCase()}\n\n`;
  const digest = createHmac("sha256", Buffer.from(server.key, "base64")).update(signed);
  const authorization = `type=master&ver=1.0&sig=${digest.digest("base64")}`;
  const response = await fetch(new URL(`/_orrery/${link}/partitions`, server.endpoint), {
    method: "POST",
    headers: {
      "x-ms-date": date,
      "x-ms-version": "2020-07-15",
      authorization: encodeURIComponent(authorization),
      "content-type": "application/json",
    },
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, await response.text());
}
