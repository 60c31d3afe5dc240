// Containers: life cycle, defaults, policies, replace.

import assert from "node:assert/strict";
import { test } from "node:test";
import { charge, connect, fails, ids, newContainer, suite, unique } from "./setup.js";

const context = suite();

test("read shows every default", async () => {
  const container = await newContainer(context);
  const { resource } = await container.read();
  assert.deepEqual(resource.partitionKey, { paths: ["/pk"], kind: "Hash", version: 2 });
  assert.deepEqual(resource.indexingPolicy, {
    indexingMode: "consistent",
    automatic: true,
    includedPaths: [{ path: "/*" }],
    excludedPaths: [{ path: '/"_etag"/?' }],
  });
  assert.deepEqual(resource.conflictResolutionPolicy, {
    mode: "LastWriterWins",
    conflictResolutionPath: "/_ts",
    conflictResolutionProcedure: "",
  });
  assert.deepEqual(resource.geospatialConfig, { type: "Geography" });
});

test("without a version the key is hashed the old way and says nothing about it", async () => {
  const container = await newContainer(context, { partitionKey: { paths: ["/pk"] } });
  const { resource } = await container.read();
  assert.deepEqual(resource.partitionKey, { paths: ["/pk"], kind: "Hash" });
});

test("the path alone is a partition key", async () => {
  const container = await newContainer(context, { partitionKey: "/a/b" });
  const { resource } = await container.getPartitionKeyDefinition();
  assert.deepEqual(resource.paths, ["/a/b"]);
});

test("create twice, createIfNotExists, delete", async () => {
  const { container, statusCode } = await context.database.containers.create({
    id: "twice",
    partitionKey: "/pk",
  });
  assert.equal(statusCode, 201);
  await fails(context.database.containers.create({ id: "twice", partitionKey: "/pk" }), 409);
  const again = await context.database.containers.createIfNotExists({
    id: "twice",
    partitionKey: "/other",
  });
  assert.equal(again.statusCode, 200);
  assert.deepEqual(again.resource.partitionKey.paths, ["/pk"]);
  assert.equal((await container.delete()).statusCode, 204);
  await fails(container.read(), 404);
});

test("list and query", async () => {
  const container = await newContainer(context);
  const { resources } = await context.database.containers.readAll().fetchAll();
  assert.ok(ids(resources).includes(container.id));
  const query = {
    query: "SELECT * FROM r WHERE r.id = @id",
    parameters: [{ name: "@id", value: container.id }],
  };
  const found = await context.database.containers.query(query).fetchAll();
  assert.deepEqual(ids(found.resources), [container.id]);
});

const policies = {
  indexingPolicy: {
    indexingMode: "consistent",
    automatic: true,
    includedPaths: [{ path: "/a/?" }],
    excludedPaths: [{ path: "/*" }, { path: '/"_etag"/?' }],
    compositeIndexes: [
      [
        { path: "/a", order: "ascending" },
        { path: "/b", order: "descending" },
      ],
    ],
  },
  uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/u"] }, { paths: ["/v", "/w"] }] },
  defaultTtl: 60,
  analyticalStorageTtl: -1,
  geospatialConfig: { type: "Geometry" },
  computedProperties: [{ name: "n", query: "SELECT VALUE LOWER(c.a) FROM c" }],
  changeFeedPolicy: { retentionDuration: 5 },
};

for (const [name, value] of Object.entries(policies)) {
  test(`${name} comes back as sent`, async () => {
    const container = await newContainer(context, { [name]: value });
    const { resource } = await container.read();
    assert.deepEqual(resource[name], value);
  });
}

for (const defaultTtl of [0, -10, 1.5]) {
  test(`default ttl ${defaultTtl} is refused`, async () => {
    await fails(newContainer(context, { defaultTtl }), 400);
  });
}

test("replace changes the mutable parts and keeps the rest", async () => {
  const container = await newContainer(context);
  const { resource: before } = await container.read();
  const changed = await container.replace({ ...before, defaultTtl: 60 });
  assert.equal(changed.statusCode, 200);
  assert.equal(changed.resource.defaultTtl, 60);
  assert.equal(changed.resource._rid, before._rid);
  const { resource: reset } = await container.replace(before);
  assert.equal(reset.defaultTtl, undefined);
});

test("partition key, unique keys and id cannot be replaced", async () => {
  const container = await newContainer(context);
  const { resource } = await container.read();
  await fails(container.replace({ ...resource, partitionKey: { paths: ["/other"] } }), 400);
  const uniqueKeyPolicy = { uniqueKeys: [{ paths: ["/u"] }] };
  await fails(container.replace({ ...resource, uniqueKeyPolicy }), 400);
  await fails(container.replace({ ...resource, id: unique("other") }), 400);
});

test("vector and full-text policies", async () => {
  const vectorEmbeddingPolicy = {
    vectorEmbeddings: [
      { path: "/v", dataType: "float32", dimensions: 8, distanceFunction: "cosine" },
    ],
  };
  const fullTextPolicy = {
    defaultLanguage: "en-US",
    fullTextPaths: [{ path: "/t", language: "en-US" }],
  };
  const container = await newContainer(context, {
    vectorEmbeddingPolicy,
    fullTextPolicy,
    indexingPolicy: {
      vectorIndexes: [{ path: "/v", type: "flat" }],
      fullTextIndexes: [{ path: "/t" }],
    },
  });
  const { resource } = await container.read();
  assert.deepEqual(resource.vectorEmbeddingPolicy, vectorEmbeddingPolicy);
  assert.deepEqual(resource.fullTextPolicy, fullTextPolicy);
  const wrong = structuredClone(vectorEmbeddingPolicy);
  wrong.vectorEmbeddings[0].dimensions = -1;
  const error = await fails(newContainer(context, { vectorEmbeddingPolicy: wrong }), 400);
  assert.match(error.message, /The Vector Embedding Policy has Dimensions:-1/);
});

test("quota information on request", async () => {
  const container = await newContainer(context);
  const read = await container.read({ populateQuotaInfo: true });
  assert.match(read.headers["x-ms-resource-usage"], /collectionSize=/);
  assert.equal(read.headers["x-ms-documentdb-collection-index-transformation-progress"], "100");
  assert.ok(charge(read) > 0);
});

test("a container created again under a live client", async () => {
  const id = unique("again");
  const create = () => context.database.containers.create({ id, partitionKey: "/pk" });
  const { container, resource: first } = await create();
  await container.items.create({ id: "1", pk: "a" });
  await container.delete();
  const { resource: second } = await create();
  assert.notEqual(first._rid, second._rid);
  assert.equal((await container.item("1", "a").read()).statusCode, 404);
  await container.items.create({ id: "1", pk: "a" });
  assert.deepEqual(ids((await container.items.readAll().fetchAll()).resources), ["1"]);
});

test("a container without a partition key, as old versions of the protocol create it", async () => {
  const old = (request, node, next) => {
    if (request.resourceType === "colls" && request.method === "POST") {
      request.body = JSON.stringify({ id: JSON.parse(request.body).id });
    }
    request.headers["x-ms-version"] = "2018-06-18";
    return next(request);
  };
  const legacy = connect(context.server, { plugins: [{ on: "request", plugin: old }] });
  const id = unique("c");
  await legacy.database(context.database.id).containers.create({ id });
  legacy.dispose();
  const container = context.database.container(id);
  const { resource } = await container.read();
  assert.deepEqual(resource.partitionKey, {
    paths: ["/_partitionKey"],
    kind: "Hash",
    systemKey: true,
  });
  await container.items.create({ id: "a", n: 1 });
  await container.items.upsert({ id: "b", n: 1 });
  assert.equal((await container.item("a", undefined).replace({ id: "a", n: 2 })).resource.n, 2);
  assert.equal((await container.item("a", undefined).read()).resource.n, 2);
  assert.deepEqual(ids((await container.items.readAll().fetchAll()).resources), ["a", "b"]);
  const { resources } = await container.items.query("SELECT * FROM c").fetchAll();
  assert.deepEqual(ids(resources), ["a", "b"]);
  const results = await container.items.bulk([
    { operationType: "Create", resourceBody: { id: "c", n: 1 } },
    { operationType: "Read", id: "a" },
    { operationType: "Delete", id: "b" },
  ]);
  assert.deepEqual(results.map(({ statusCode }) => statusCode), [201, 200, 204]);
  // A program that moves to keys writes the property of the system, beside items that have none.
  await container.items.create({ id: "a", _partitionKey: "k", n: 3 });
  assert.equal((await container.item("a", "k").read()).resource.n, 3);
  assert.equal((await container.item("a", undefined).read()).resource.n, 2);
  const keyed = await container.items.query("SELECT * FROM c", { partitionKey: "k" }).fetchAll();
  assert.deepEqual(keyed.resources.map(({ n }) => n), [3]);
  const all = await container.items.query("SELECT VALUE COUNT(1) FROM c").fetchAll();
  assert.deepEqual(all.resources, [3]);
  await container.item("a", undefined).delete();
  assert.equal((await container.item("a", undefined).read()).statusCode, 404);
  assert.equal((await container.item("a", "k").read()).statusCode, 200);
});

test("segments of the key path in single quotes", async () => {
  const container = await newContainer(context, { partitionKey: { paths: ["/'a b'/'c/d'"] } });
  const { resource } = await container.items.create({ id: "1", "a b": { "c/d": "x" } });
  assert.deepEqual((await container.item("1", "x").read()).resource, resource);
  for (const path of ["/a.b", "id"]) {
    const error = await fails(newContainer(context, { partitionKey: { paths: [path] } }), 400);
    const text = `The partition key component definition path '${path}' could not be accepted`;
    assert.ok(error.message.includes(text), error.message);
  }
});

test("ttl is checked in a container without one", async () => {
  for (const ttl of [null, 0, -10]) {
    await fails(context.container.items.create({ id: unique("ttl"), pk: "a", ttl }), 400);
  }
});

test("languages by their number", async () => {
  const fullTextPolicy = {
    defaultLanguage: "en-US",
    fullTextPaths: [{ path: "/text", language: "1033" }],
  };
  const container = await newContainer(context, { fullTextPolicy });
  assert.deepEqual((await container.read()).resource.fullTextPolicy, fullTextPolicy);
});

for (const name of ["materializedViewDefinition", "globalSecondaryIndexDefinition", "backupPolicy"]) {
  test(`${name} is refused, not ignored`, async () => {
    const definition = { sourceCollectionId: "source", definition: "SELECT c.id FROM c" };
    const body = { id: unique("c"), partitionKey: "/pk", [name]: definition };
    const error = await fails(context.database.containers.create(body), 400);
    assert.match(error.message, new RegExp(name));
    await fails(context.database.container(body.id).read(), 404);
  });
}
