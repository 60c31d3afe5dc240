// Databases, containers, users, scripts: made, changed and removed, with guards where it hurts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { copied, notice, picture, signIn } from "./support/browser.js";
import { startServer } from "./support/server.js";
import { world, write } from "./support/world.js";

const shop = world();

test("databases and containers come and go", async () => {
  await shop.on("/", {}, async (page) => {
    await page.getByRole("button", { name: "New database" }).first().click();
    await page.getByLabel("Name").fill("temporary");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("heading", { name: "temporary" }).waitFor();

    await page.getByRole("main").getByRole("button", { name: "New container" }).click();
    await page.getByLabel("Name").fill("things");
    await page.getByLabel("Partition key").fill("/a, /b");
    await page.getByText("More", { exact: true }).click();
    await page.getByLabel("Unique keys").fill("/c\n/d, /e");
    await page.getByLabel("Time to live in seconds").fill("600");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByText("There is no item yet.").waitFor();
    const made = await shop.server.ask("GET", "dbs/temporary/colls/things");
    assert.deepEqual(made.partitionKey, { paths: ["/a", "/b"], kind: "MultiHash", version: 2 });
    assert.deepEqual(made.uniqueKeyPolicy.uniqueKeys.map(({ paths }) => paths), [["/c"], ["/d", "/e"]]);
    assert.equal(made.defaultTtl, 600);

    await page.getByRole("button", { name: "Delete the container" }).click();
    const remove = page.getByRole("dialog").getByRole("button", { name: "Delete" });
    assert.equal(await remove.isDisabled(), true);
    await page.getByLabel("Type “things” to confirm").fill("things");
    await remove.click();
    await page.getByText("There is no container yet.").waitFor();

    await page.getByRole("main").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByLabel("Type “temporary” to confirm").fill("temporary");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Connect" }).waitFor();
    await assert.rejects(shop.server.ask("GET", "dbs/temporary"), /404/);
  });
});

test("what the server refuses is said in the dialog", async () => {
  await shop.on("/", {}, async (page) => {
    await page.getByRole("button", { name: "New database" }).first().click();
    await page.getByLabel("Name").fill("shop");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("dialog").getByRole("alert").filter({ hasText: "409" }).waitFor();
  });
});

test("the tree is walked with the keyboard", async () => {
  await shop.on("/", {}, async (page) => {
    const events = page.getByRole("treeitem", { name: "events" });
    await events.waitFor();
    await page.getByRole("treeitem", { name: "archive" }).focus();
    await page.keyboard.press("ArrowLeft");
    await events.waitFor({ state: "detached" });
    await page.keyboard.press("ArrowRight");
    await events.waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await page.getByRole("treeitem", { name: "Partitions" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Query" }).waitFor();
    assert.match(page.url(), /#\/db\/archive\/events\/query$/);
  });
});

test("typing a part of a name leads there", async () => {
  await shop.on("/", {}, async (page) => {
    await page.getByRole("treeitem", { name: "orders" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Name of a container or screen" }).fill("orders settings");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Indexing policy" }).waitFor();
    assert.match(page.url(), /#\/db\/shop\/orders\/settings$/);
  });
});

test("connection strings and programs can be copied", async () => {
  await shop.on("/", {}, async (page) => {
    const { endpoint, key } = shop.server;
    // It says so for a moment only, so somebody in the page has to look.
    const isShown = () => document.querySelector('[aria-label="Copied"]') !== null;
    const says = page.waitForFunction(isShown, undefined, { polling: 20 });
    assert.equal(await copied(page, "Copy the connection string"), `AccountEndpoint=${endpoint};AccountKey=${key};`);
    await says;
    for (const language of ["Python", "JavaScript", ".NET", "Java", "Spring", "Go", "Rust"]) {
      await page.getByRole("tab", { name: language, exact: true }).click();
      const shown = await page.getByLabel(`${language} program`).textContent();
      assert.ok(shown.includes(endpoint) && !shown.includes(key), language);
    }
    assert.ok((await copied(page, "Copy the program")).includes(key));
    const needed = { Java: '"COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED", "true"', Spring: "connection-mode=gateway", ".NET": `"AccountEndpoint=${endpoint};` };
    for (const [language, part] of Object.entries(needed)) {
      await page.getByRole("tab", { name: language, exact: true }).click();
      assert.ok((await page.getByLabel(`${language} program`).textContent()).includes(part), language);
    }
    await page.getByRole("tab", { name: "Spring", exact: true }).click();
    await page.getByText("java -DCOSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED=true").waitFor();
    await picture(page, "dark-snippet-spring");
  });
});

test("over TLS the programs say how the certificate is accepted", async (t) => {
  const server = await startServer("--tls", "auto");
  t.after(() => server.stop());
  const context = await shop.browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await signIn(page, server);
  await page.getByRole("tab", { name: ".NET", exact: true }).click();
  await page.getByText("orrery certificate trust").waitFor();
  await picture(page, "light-snippet-dotnet");
  for (const language of [".NET", "Go", "Rust"]) {
    await page.getByRole("tab", { name: language, exact: true }).click();
    await page.getByText("set SSL_CERT_FILE to the bundle").waitFor();
  }
  await page.getByRole("tab", { name: "Java", exact: true }).click();
  await page.getByText("COSMOS.EMULATOR_SERVER_CERTIFICATE_VALIDATION_DISABLED").waitFor();
  await context.close();
});

test("users get permissions and tokens", async () => {
  await shop.on("/db/shop", {}, async (page) => {
    await page.getByText("reader").click();
    await page.getByRole("button", { name: "Allow" }).click();
    const token = await copied(page, "Copy the token of read-books");
    const answer = await fetch(`${shop.server.endpoint}dbs/shop/colls/books/docs`, {
      headers: { authorization: encodeURIComponent(token), "x-ms-date": new Date().toUTCString(), "x-ms-version": "2020-07-15" },
    });
    assert.equal(answer.status, 200);
    await page.getByRole("button", { name: "Delete the user" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("There are none.").waitFor();
  });
});

test("throughput, time to live and indexing policy are changed", async () => {
  await shop.on("/db/shop/orders/settings", {}, async (page) => {
    const card = (name) => page.getByRole("region", { name, exact: true });
    await card("Throughput").getByRole("combobox", { name: "Throughput" }).selectOption("autoscale");
    await card("Throughput").getByLabel("Highest RU/s").fill("2000");
    await card("Throughput").getByRole("button", { name: "Save" }).click();
    await notice(page, "The throughput is changed.");
    const { Offers } = await shop.server.ask("GET", "offers");
    assert.ok(Offers.some(({ content }) => content.offerAutopilotSettings?.maxThroughput === 2000));

    await card("Time to live").getByRole("combobox", { name: "Items expire" }).selectOption("on");
    await card("Time to live").getByLabel("Seconds").fill("3600");
    await card("Time to live").getByRole("button", { name: "Save" }).click();
    await notice(page, "The time to live is saved.");

    await write(page, "Indexing policy", '{"indexingMode":"consistent","includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/note"}]}');
    await page.getByText("A path ends with /? for a value or /* for all below it.").first().waitFor();
    assert.equal(await card("Indexing policy").getByRole("button", { name: "Save" }).isDisabled(), true);
    await write(page, "Indexing policy", '{"indexingMode":"consistent","includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/note/*"}]}');
    await card("Indexing policy").getByRole("button", { name: "Save" }).click();
    await notice(page, "The indexing policy is saved.");
    await page.getByText("The index follows the policy.").waitFor();
    const container = await shop.server.ask("GET", "dbs/shop/colls/orders");
    assert.equal(container.defaultTtl, 3600);
    assert.ok(container.indexingPolicy.excludedPaths.some(({ path }) => path === "/note/*"));
  });
});

test("a stored procedure is written, run and heard", async () => {
  await shop.on("/db/shop/books/scripts", {}, async (page) => {
    await page.getByRole("button", { name: "New stored procedure" }).click();
    await page.getByLabel("Name").fill("count");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await write(page, "Text of count", `function count(word) {
      const container = getContext().getCollection();
      console.log("looking for " + word);
      container.queryDocuments(container.getSelfLink(), "SELECT VALUE COUNT(1) FROM c", function (error, rows) {
        if (error) throw error;
        getContext().getResponse().setBody({ word: word, items: rows[0] });
      });
    }`);
    await page.keyboard.press("Control+s");
    await notice(page, "count is saved.");
    await page.getByLabel("Partition key (/author)").fill("Lem");
    await page.getByLabel("Arguments, as a JSON array").fill("[tide]");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("alert").filter({ hasText: "Line 1, column 2: A value or ] is expected here." }).waitFor();
    await page.getByLabel("Arguments, as a JSON array").fill('["tide"]');
    await page.getByRole("button", { name: "Run" }).click();
    assert.deepEqual(JSON.parse(await page.getByLabel("Result").textContent()), { word: "tide", items: 200 });
    assert.match(await page.getByLabel("Console").textContent(), /looking for tide/);
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByLabel("Type “count” to confirm").fill("count");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Choose a script, or make one.").waitFor();
  });
});
