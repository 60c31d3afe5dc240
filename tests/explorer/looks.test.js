// Every screen in both themes and at the width of a phone: nothing is cut off, axe is content, and a
// picture is kept for people to look through.

import assert from "node:assert/strict";
import { test } from "node:test";
import { DESKTOP, PHONE, checkAccess, newPage, picture, settled, signIn } from "./support/browser.js";
import { world, write } from "./support/world.js";

const QUERY = "SELECT c.author, COUNT(1) AS books, AVG(c.price) AS price FROM c WHERE c.year > 1990 AND c.language = 'de' GROUP BY c.author";

const SCREENS = [
  { name: "overview", hash: "/", ready: (page) => page.getByRole("heading", { name: "Connect" }) },
  { name: "database", hash: "/db/shop", ready: (page) => page.getByRole("link", { name: "orders" }) },
  { name: "items", hash: "/db/shop/books/items", ready: (page) => page.getByRole("grid", { name: "Items" }) },
  {
    name: "item",
    hash: "/db/shop/books/items",
    ready: (page) => page.getByRole("grid", { name: "Items" }),
    act: (page) => page.getByText("book-0034").click(),
  },
  { name: "query", hash: "/db/shop/books/query", ready: run },
  ...["Tree", "JSON", "Chart", "Plan", "Metrics"].map((view) => ({
    name: `query-${view.toLowerCase()}`,
    hash: "/db/shop/books/query",
    ready: run,
    act: (page) => page.getByRole("tab", { name: view }).click(),
  })),
  { name: "script", hash: "/db/shop/books/scripts/udfs/gross", ready: (page) => page.getByRole("textbox", { name: "Text of gross" }) },
  { name: "partitions", hash: "/db/shop/books/partitions", ready: (page) => page.getByRole("img", { name: /physical partitions/ }) },
  { name: "settings", hash: "/db/shop/books/settings", ready: (page) => page.getByRole("textbox", { name: "Indexing policy" }) },
  { name: "requests", hash: "/requests", ready: (page) => page.getByRole("heading", { name: "Requests" }) },
];

async function run(page) {
  await write(page, "Query", QUERY);
  await page.keyboard.press("Control+Enter");
  return page.getByRole("grid", { name: "Rows" });
}

const LOOKS = [
  { name: "dark", theme: "dark", size: DESKTOP },
  { name: "light", theme: "light", size: DESKTOP },
  { name: "phone", theme: "dark", size: PHONE },
];

const shop = world();

for (const look of LOOKS) {
  test(`screens, ${look.name}`, async (t) => {
    const page = await newPage(shop.browser, shop.server, look);
    await page.goto(shop.server.explorer);
    await page.getByRole("button", { name: "Open" }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), look.theme);
    await check(page, look, "login");
    await signIn(page, shop.server);
    for (const { name, hash, ready, act } of SCREENS) {
      await t.test(name, async () => {
        await page.goto(`${shop.server.explorer}#/`);
        // What was shown before is gone only when something else is shown.
        await page.getByRole("heading", { name: "Connect" }).waitFor();
        await page.goto(`${shop.server.explorer}#${hash}`);
        await (await ready(page)).waitFor();
        await act?.(page);
        // Editors and grids measure themselves in the next frame.
        await page.waitForTimeout(150);
        await settled(page);
        await check(page, look, name);
      });
    }
    assert.deepEqual(page.surprises, []);
    await page.context().close();
  });
}

async function check(page, look, name) {
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(beyond <= 0, `the page is ${beyond} pixels wider than the window`);
  await picture(page, `${look.name}-${name}`);
  await checkAccess(page, `${name}, ${look.name}`);
}

test("the tree is behind a button on a phone", async () => {
  await shop.on("/", { size: PHONE }, async (page) => {
    const books = page.getByRole("treeitem", { name: "books" });
    assert.equal(await books.isVisible(), false);
    await page.getByRole("button", { name: "Databases", exact: true }).click();
    await books.click();
    await page.getByRole("grid", { name: "Items" }).waitFor();
    await books.waitFor({ state: "hidden" });
  });
});

test("the theme stays as it was chosen", async () => {
  await shop.on("/", { theme: "dark" }, async (page) => {
    await page.getByRole("button", { name: "Light theme" }).click();
    await page.reload();
    await page.getByRole("heading", { name: "Connect" }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
  });
});
