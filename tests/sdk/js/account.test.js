// What a client learns about the account, and how it is let in.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CosmosClient } from "@azure/cosmos";
import { connect, fails, suite } from "./setup.js";

const context = suite();

test("the account has one region with session consistency", async () => {
  const { resource } = await context.client.getDatabaseAccount();
  assert.equal(resource.consistencyPolicy, "Session");
  assert.equal(resource.writableLocations.length, 1);
  const endpoint = resource.writableLocations[0].databaseAccountEndpoint;
  assert.equal(new URL(endpoint).href, new URL(context.server.endpoint).href);
});

test("requests go to the advertised endpoint", async () => {
  const endpoint = await context.client.getWriteEndpoint();
  assert.equal(new URL(endpoint).href, new URL(context.server.endpoint).href);
});

test("a connection string opens the account", async () => {
  const { endpoint, key } = context.server;
  const client = new CosmosClient(`AccountEndpoint=${endpoint};AccountKey=${key};`);
  try {
    const { resources } = await client.databases.readAll().fetchAll();
    assert.equal(resources.length, 1);
  } finally {
    client.dispose();
  }
});

test("a wrong key is unauthorized", async () => {
  const key = Buffer.from("other".repeat(12)).toString("base64");
  const client = connect(context.server, { key });
  try {
    const error = await fails(client.databases.readAll().fetchAll(), 401);
    assert.equal(error.body.code, "Unauthorized");
    assert.match(error.message, /to sign/);
  } finally {
    client.dispose();
  }
});
