// Offers: manual, autoscale, shared by a database.

import assert from "node:assert/strict";
import { test } from "node:test";
import { charge, fails, newContainer, suite, unique } from "./setup.js";

const context = suite();

test("manual throughput is read and replaced", async () => {
  const container = await newContainer(context, {}, { offerThroughput: 600 });
  const { resource, offer } = await container.readOffer();
  assert.equal(resource.content.offerThroughput, 600);
  assert.equal(resource.resource, (await container.read()).resource._self);
  const read = await offer.read();
  assert.deepEqual(read.resource, resource);
  assert.ok(charge(read) > 0);
  const content = { ...resource.content, offerThroughput: 900 };
  const replaced = await offer.replace({ ...resource, content });
  assert.equal(replaced.resource.content.offerThroughput, 900);
  assert.equal(replaced.headers["x-ms-cosmos-min-throughput"], "400");
  assert.equal((await container.readOffer()).resource.content.offerThroughput, 900);
});

test("the default is 400", async () => {
  const container = await newContainer(context);
  assert.equal((await container.readOffer()).resource.content.offerThroughput, 400);
});

test("autoscale", async () => {
  const container = await newContainer(context, { maxThroughput: 5000 });
  const { resource } = await container.readOffer();
  assert.equal(resource.content.offerAutopilotSettings.maxThroughput, 5000);
  assert.equal(resource.content.offerThroughput, 500);
});

test("autoscale with an upgrade policy", async () => {
  const autoUpgradePolicy = { throughputPolicy: { incrementPercent: 15 } };
  const container = await newContainer(context, { maxThroughput: 4000, autoUpgradePolicy });
  const { resource } = await container.readOffer();
  assert.deepEqual(resource.content.offerAutopilotSettings.autoUpgradePolicy, autoUpgradePolicy);
});

test("a shared database keeps the offer", async () => {
  const { database } = await context.client.databases.create({
    id: unique("db"),
    throughput: 1000,
  });
  assert.equal((await database.readOffer()).resource.content.offerThroughput, 1000);
  const { container } = await database.containers.create({ id: "c", partitionKey: "/pk" });
  assert.equal((await container.readOffer()).resource, undefined);
});

test("all offers", async () => {
  await newContainer(context, {}, { offerThroughput: 700 });
  const { resources } = await context.client.offers.readAll().fetchAll();
  assert.ok(resources.some((offer) => offer.content.offerThroughput === 700));
});

for (const throughput of [100, 450]) {
  test(`${throughput} is no throughput`, async () => {
    await fails(newContainer(context, { throughput }), 400);
  });
}
