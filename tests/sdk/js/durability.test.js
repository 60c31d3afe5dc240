// A server killed without warning comes back with everything it had acknowledged.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "./setup.js";
import { startServer } from "./server.js";

test("items survive a kill", async () => {
  const data = mkdtempSync(join(tmpdir(), "orrery-"));
  let server = await startServer({ data });
  try {
    let client = connect(server);
    const { database } = await client.databases.create({ id: "db" });
    const { container } = await database.containers.create({ id: "c", partitionKey: "/pk" });
    const written = await Promise.all(
      Array.from({ length: 20 }, (_, n) => container.items.create({ id: `${n}`, pk: "a" })),
    );
    client.dispose();
    await server.kill();

    server = await startServer({ data });
    client = connect(server);
    for (const { resource } of written) {
      const read = await client.database("db").container("c").item(resource.id, "a").read();
      assert.deepEqual(read.resource, resource);
    }
    client.dispose();
  } finally {
    await server.stop();
    rmSync(data, { recursive: true, force: true });
  }
});
