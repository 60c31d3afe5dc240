// One server in memory per test file, a client, a database and a container with the key path `/pk`.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { CosmosClient } from "@azure/cosmos";
import { startServer } from "./server.js";

let counter = 0;

/** A name nothing else in this file uses. */
export function unique(prefix) {
  counter += 1;
  return `${prefix}-${counter}`;
}

export function connect(server, more = {}) {
  const { connectionPolicy, ...rest } = more;
  return new CosmosClient({
    endpoint: server.endpoint,
    key: server.key,
    connectionPolicy: { enableBackgroundEndpointRefreshing: false, ...connectionPolicy },
    ...rest,
  });
}

/** Fills the returned object before the first test, then runs `prepare`; cleans up at the end. */
export function suite(prepare = async () => {}) {
  const context = {};
  before(async () => {
    context.server = await startServer();
    context.client = connect(context.server);
    ({ database: context.database } = await context.client.databases.create({ id: "db" }));
    ({ container: context.container } = await context.database.containers.create(
      { id: "items", partitionKey: { paths: ["/pk"], version: 2 } },
      { offerThroughput: 10000 },
    ));
    await prepare(context);
  });
  after(async () => {
    context.client?.dispose();
    await context.server?.stop();
  });
  return context;
}

export async function newContainer(context, definition = {}, options = {}) {
  const { container } = await context.database.containers.create(
    { id: unique("c"), partitionKey: { paths: ["/pk"], version: 2 }, ...definition },
    options,
  );
  return container;
}

/** The promise fails with this status; the error comes back for closer looks. */
export async function fails(promise, status, substatus) {
  const error = await promise.then(
    () => assert.fail(`expected status ${status}`),
    (caught) => caught,
  );
  const cause = error.cause ?? error;
  assert.equal(cause.code, status, cause.message);
  if (substatus !== undefined) {
    assert.equal(cause.substatus ?? 0, substatus, cause.message);
  }
  return cause;
}

export function ids(rows) {
  return rows.map((row) => row.id).sort();
}

/** The properties the user wrote. */
export function withoutSystem(item) {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !name.startsWith("_")));
}

export function charge(response) {
  return Number(response.headers["x-ms-request-charge"]);
}
