// TLS with the certificate the server makes for itself.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import { after, before, test } from "node:test";
import { connect } from "./setup.js";
import { startServer } from "./server.js";

let server;
before(async () => {
  server = await startServer({ tls: "auto" });
});
after(() => server?.stop());

test("an agent that trusts the certificate", async () => {
  assert.match(server.endpoint, /^https:/);
  const agent = new Agent({ ca: readFileSync(server.certificate), keepAlive: true });
  const client = connect(server, { agent });
  try {
    const { database } = await client.databases.create({ id: "db" });
    const { container } = await database.containers.create({ id: "c", partitionKey: "/pk" });
    const { resource } = await container.items.create({ id: "1", pk: "a" });
    assert.deepEqual((await container.item("1", "a").read()).resource, resource);
  } finally {
    client.dispose();
    agent.destroy();
  }
});

test("an agent that does not trust it", async () => {
  const agent = new Agent();
  const client = connect(server, { agent });
  try {
    await assert.rejects(client.databases.readAll().fetchAll());
  } finally {
    client.dispose();
    agent.destroy();
  }
});
