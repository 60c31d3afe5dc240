// What moves by itself: the log of requests and the partition map.

import assert from "node:assert/strict";
import { test } from "node:test";
import { count, picture, settled } from "./support/browser.js";
import { world, write } from "./support/world.js";

const shop = world();

test("requests of programs appear, with status, charge and client, and can be filtered", async () => {
  await shop.on("/requests", {}, async (page) => {
    await page.getByText("Nothing yet.").waitFor();
    for (const id of ["book-0001", "missing-1", "missing-2"]) {
      await shop.server.ask("GET", `dbs/shop/colls/books/docs/${id}`, { headers: { "x-ms-documentdb-partitionkey": '["Lem"]' } }).catch(() => {});
    }
    const grid = page.getByRole("grid", { name: "Requests" });
    await grid.getByText("/dbs/shop/colls/books/docs/book-0001").waitFor();
    await page.getByText("3 requests").waitFor();
    const texts = await grid.getByRole("row").filter({ hasText: "book-0001" }).getByRole("gridcell").allInnerTexts();
    assert.equal(texts[1], "GET");
    assert.equal(texts[3], "200");
    assert.match(texts[5], / ms$/);
    assert.match(texts[7], /orrery-explorer-tests/);
    await picture(page, "dark-requests-live");
    await page.getByRole("combobox", { name: "Status" }).selectOption("4");
    await page.getByText("2 requests").waitFor();
    await page.getByLabel("Filter").fill("missing-2");
    await page.getByText("1 request ·").waitFor();
    await grid.getByRole("row").nth(1).click();
    await page.getByText("Activity id").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("paused", { exact: true }).waitFor();
    // A look that is due may still be taken until then.
    await settled(page);
    await shop.server.ask("GET", "dbs/shop/colls/books/docs/missing-2", { headers: { "x-ms-documentdb-partitionkey": '["Lem"]' } }).catch(() => {});
    await page.waitForTimeout(1_300);
    await page.getByText("1 request ·").waitFor();
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByText("2 requests").waitFor();
  });
});

test("nothing is called live before the server keeps a log", async () => {
  await shop.on("", {}, async (page) => {
    let answer;
    const held = new Promise((resolve) => { answer = resolve; });
    await page.route("**/_orrery/requests*", async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${shop.server.explorer}#/requests`);
    await page.getByText("Asking the server to keep a log").waitFor();
    await page.getByText("connecting", { exact: true }).waitFor();
    assert.equal(await page.getByText("Nothing yet.").count(), 0);
    answer();
    await page.getByText("live", { exact: true }).waitFor();
    assert.equal(await page.getByText("Asking the server to keep a log").count(), 0);
  });
});

test("the map shows the partitions, and which of them a query has read", async () => {
  await shop.on("/db/shop/books/query", {}, async (page) => {
    const { PartitionKeyRanges } = await shop.server.ask("GET", "dbs/shop/colls/books/pkranges");
    assert.equal(PartitionKeyRanges.length, 7);
    await write(page, "Query", "SELECT * FROM c WHERE c.author = 'Lem'");
    await page.keyboard.press("Control+Enter");
    await page.getByText("100 rows+").waitFor();
    await page.getByRole("tab", { name: "Partitions" }).click();
    const map = page.getByRole("img", { name: "7 physical partitions on the circle of hashed keys" });
    await map.waitFor();
    await count(map.locator(".piece"), 7);
    await count(map.locator(".reached"), 1);
    await count(page.getByText("read", { exact: true }), 1);
    await picture(page, "dark-partitions-read");
  });
});

test("a split is seen as it happens, with the load of each partition", async () => {
  await shop.server.ask("POST", "dbs/shop/colls", {
    body: { id: "growing", partitionKey: { paths: ["/pk"], kind: "Hash", version: 2 } },
    headers: { "x-ms-offer-throughput": "6000" },
  });
  for (let number = 0; number < 200; number++) {
    await shop.server.ask("POST", "dbs/shop/colls/growing/docs", { body: { id: String(number), pk: `k${number}`, text: "x".repeat(200) } });
  }
  await shop.on("/db/shop/growing/partitions", {}, async (page) => {
    await page.getByRole("img", { name: "1 physical partitions on the circle of hashed keys" }).waitFor();
    const items = page.locator(".ring-number");
    await items.filter({ hasText: "200" }).waitFor();
    const { _rid } = await shop.server.ask("GET", "dbs/shop/colls/growing");
    const { Offers } = await shop.server.ask("GET", "offers");
    const offer = Offers.find(({ offerResourceId }) => offerResourceId === _rid);
    offer.content.offerThroughput = 24_000;
    await shop.server.ask("PUT", `offers/${offer._rid}`, { body: offer, link: offer._rid.toLowerCase() });
    await page.getByText(/Partition 0 was split into \d+ and \d+/).waitFor();
    await items.filter({ hasText: "200" }).waitFor();
    await picture(page, "dark-partitions-split");
  });
});
