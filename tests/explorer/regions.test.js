// The page of operators: the picture of the regions moves with them, and its orders are carried out.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { DESKTOP, PHONE, checkAccess, launch, newPage, picture } from "./support/browser.js";
import { startServer } from "./support/server.js";

const [WEST, NORTH, EAST] = ["West US", "North Europe", "Japan East"];

let server;
let browser;
before(async () => {
  // Left alone, the others would soon replace a write region that is down.
  server = await startServer("--region", WEST, "--region", NORTH, "--region", EAST, "--service-managed-failover", "off");
  browser = await launch();
  await server.ask("POST", "dbs", { body: { id: "d" } });
  await server.ask("POST", "dbs/d/colls", { body: { id: "c", partitionKey: { paths: ["/pk"], kind: "Hash", version: 2 } } });
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

let written = 0;
const writeOne = () => server.ask("POST", "dbs/d/colls/c/docs", {
  body: { id: String(written++), pk: "a" },
  headers: { "x-ms-documentdb-partitionkey": '["a"]' },
});

/** Opens the page as a person does who has read the start message. */
async function open(options) {
  const page = await newPage(browser, server.management, options);
  await page.goto(server.management.endpoint);
  await page.getByLabel("Key of operators").fill(server.management.key);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("heading", { name: "Regions" }).waitFor();
  return page;
}

const row = (page, table, name) => page.getByRole("table", { name: table }).getByRole("row").filter({ has: page.getByRole("button", { name, exact: true }) });

async function on(options, work) {
  const page = await open(options);
  try {
    await work(page);
    assert.deepEqual(page.surprises, []);
  } finally {
    await page.context().close();
  }
}

test("another key is refused, and the right one stays in the tab", async () => {
  const page = await newPage(browser, server.management);
  await page.goto(server.management.endpoint);
  await page.getByLabel("Key of operators").fill("another");
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByText("The server has another key.").waitFor();
  await page.getByLabel("Key of operators").fill(server.management.key);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("heading", { name: "Regions" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "Regions" }).waitFor();
  await page.getByRole("button", { name: "Forget the key" }).click();
  await page.getByLabel("Key of operators").waitFor();
  await page.context().close();
});

test("a link is paused, stepped and resumed, and what is missing is counted", async () => {
  await on({}, async (page) => {
    const link = row(page, "Links", `${WEST} → ${NORTH}`);
    await link.getByRole("button").click();
    const orders = page.getByRole("region", { name: `${WEST} to ${NORTH}` });
    await orders.getByRole("button", { name: "Pause" }).click();
    await link.getByText("paused").waitFor();
    for (let count = 0; count < 3; count++) await writeOne();
    await link.getByText("3 records").waitFor();
    await row(page, "Regions", NORTH).getByText(/^3 records, /).waitFor();
    await page.getByRole("img", { name: /^3 regions, 1 of 6 links/ }).waitFor();
    await picture(page, "dark-regions-paused");
    await orders.getByLabel("Records to let through").fill("2");
    await orders.getByRole("button", { name: "Step" }).click();
    await link.getByText("1 record").waitFor();
    await orders.getByRole("button", { name: "Resume" }).click();
    await link.getByText("nothing").waitFor();
    await page.getByRole("img", { name: "3 regions, every link is open" }).waitFor();
  });
});

test("links are delayed, one with its way back, or all of them, and are as before again", async () => {
  await on({}, async (page) => {
    const link = row(page, "Links", `${WEST} → ${EAST}`);
    await link.getByRole("button").click();
    const orders = page.getByRole("region", { name: `${WEST} to ${EAST}` });
    await orders.getByLabel("and back").check();
    await orders.getByLabel("Delay, milliseconds one way").fill("120");
    await orders.getByRole("button", { name: "Delay" }).click();
    await link.getByText("120 ms").waitFor();
    await row(page, "Links", `${EAST} → ${WEST}`).getByText("120 ms").waitFor();
    await row(page, "Links", `${WEST} → ${NORTH}`).getByText("open").waitFor();
    await page.getByLabel("Every link, ms").fill("30");
    await page.getByRole("button", { name: "Delay all" }).click();
    await page.getByRole("img", { name: /^3 regions, 6 of 6 links/ }).waitFor();
    await picture(page, "dark-regions-delayed");
    await page.getByRole("button", { name: "Back to normal" }).click();
    await page.getByRole("img", { name: "3 regions, every link is open" }).waitFor();
  });
});

test("a region is taken down and brought up, and another one takes the writes", async () => {
  await on({}, async (page) => {
    const east = row(page, "Regions", EAST);
    await east.getByRole("button").click();
    const orders = page.getByRole("region", { name: EAST });
    await orders.getByRole("button", { name: "Take down" }).click();
    await east.getByText("down").waitFor();
    const gone = await fetch(server.regions.find(({ name }) => name === EAST).endpoint);
    assert.equal(gone.status, 503);
    await orders.getByRole("button", { name: "Bring up" }).click();
    await east.getByText("read").waitFor();
    await row(page, "Regions", NORTH).getByRole("button").click();
    await page.getByRole("region", { name: NORTH }).getByRole("button", { name: "Make it the write region" }).click();
    await page.getByRole("heading", { name: `${NORTH} takes the writes` }).waitFor();
    await row(page, "Regions", WEST).getByRole("button").click();
    await page.getByRole("region", { name: WEST }).getByRole("button", { name: "Make it the write region" }).click();
    await page.getByRole("heading", { name: `${WEST} takes the writes` }).waitFor();
  });
});

test("a refused order says why", async () => {
  await on({}, async (page) => {
    const west = row(page, "Regions", WEST);
    await west.getByRole("button").click();
    await page.getByRole("region", { name: WEST }).getByRole("button", { name: "Take down" }).click();
    await west.getByText("down").waitFor();
    await row(page, "Regions", NORTH).getByRole("button").click();
    await page.getByRole("region", { name: NORTH }).getByRole("button", { name: "Make it the write region" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByRole("region", { name: NORTH }).getByRole("button", { name: "By force…" }).click();
    await page.getByRole("button", { name: "Take them" }).click();
    await page.getByRole("heading", { name: `${NORTH} takes the writes` }).waitFor();
    await west.getByRole("button").click();
    await page.getByRole("region", { name: WEST }).getByRole("button", { name: "Bring up" }).click();
    await west.getByText("read").waitFor();
  });
});

for (const look of [
  { name: "dark", theme: "dark", size: DESKTOP },
  { name: "light", theme: "light", size: DESKTOP },
  { name: "phone", theme: "dark", size: PHONE },
]) {
  test(`it looks as it should, ${look.name}`, async () => {
    await on(look, async (page) => {
      await row(page, "Regions", NORTH).getByRole("button").click();
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(beyond <= 0, `the page is ${beyond} pixels wider than the window`);
      await picture(page, `${look.name}-regions`);
      await checkAccess(page, `regions, ${look.name}`);
    });
  });
}
