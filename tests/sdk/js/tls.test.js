// TLS with the certificate the server makes for itself.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
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

test("a server that answers as the emulator does, by both of its names", async () => {
  const emulating = await startServer({ tls: "auto", more: ["--advertise", "emulator"] });
  const { port } = new URL(emulating.endpoint);
  const agent = new Agent({ ca: readFileSync(emulating.certificate), keepAlive: true });
  const hosts = new Set();
  const note = (request, node, next) => {
    hosts.add(new URL(request.endpoint).hostname);
    return next(request);
  };
  const endpoint = `https://localhost:${port}/`;
  const plugins = [{ on: "request", plugin: note }];
  const client = connect(emulating, { endpoint, agent, plugins });
  try {
    assert.equal(await client.getWriteEndpoint(), `https://127.0.0.1:${port}/`);
    const { database } = await client.databases.create({ id: "db" });
    const { container } = await database.containers.create({ id: "c", partitionKey: "/pk" });
    await container.items.create({ id: "1", pk: "a" });
    assert.equal((await container.item("1", "a").read()).resource.id, "1");
    // The agent verified the certificate for both names.
    assert.deepEqual([...hosts].sort(), ["127.0.0.1", "localhost"]);
  } finally {
    client.dispose();
    agent.destroy();
    await emulating.stop();
  }
});

test("a certificate for a server, and of no authority", () => {
  const certificate = new X509Certificate(readFileSync(server.certificate));
  assert.equal(certificate.ca, false);
  const days = (Date.parse(certificate.validTo) - Date.parse(certificate.validFrom)) / 86_400_000;
  assert.ok(days > 0 && days <= 825, `${days}`);
});

test("a program that is told of it by NODE_EXTRA_CA_CERTS", async () => {
  const program = `fetch("${server.endpoint}ready").then((answer) => console.log(answer.status))`;
  const ask = (trusted) => {
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: trusted };
    return promisify(execFile)(process.execPath, ["-e", program], { env });
  };
  assert.equal((await ask(server.certificate)).stdout.trim(), "200");
  await assert.rejects(ask(""));
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
