// What is typed and not saved survives whatever a browser is asked to do; and a procedure runs once.

import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, notice, picture } from "./support/browser.js";
import { world, write } from "./support/world.js";

const BOOKS = "dbs/shop/colls/books";
const ITEMS = "#/db/shop/books/items";
const SCRIPTS = "#/db/shop/books/scripts";

/** Milliseconds of a run: long enough for a run that ends, short enough for one that does not. */
const shop = world({ flags: ["--script-time", "1000"] });

const tab = (page, name) => page.getByRole("tab", { name, exact: true }).click();
const textOf = (page, name) => page.getByRole("textbox", { name }).innerText();
const holds = (page, name, text) => eventually(() => textOf(page, name), (shown) => shown.includes(text));

/** Every way to leave a screen and to come back. */
async function leaveAndReturn(page, here, holdsText) {
  const screen = here === ITEMS ? "Items" : "Scripts";
  await tab(page, "Query");
  await tab(page, screen);
  await holdsText();
  await page.getByRole("treeitem", { name: "orders" }).click();
  await page.getByRole("heading", { name: "orders" }).waitFor();
  await page.goBack();
  await holdsText();
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.getByRole("heading", { name: "Connect" }).waitFor();
  await page.goBack();
  await holdsText();
  await page.reload();
  await holdsText();
}

test("the changes of an item stay until they are saved or given up", async () => {
  await shop.on(ITEMS.slice(1), {}, async (page) => {
    await page.getByRole("grid", { name: "Items" }).getByRole("row").nth(2).click();
    const editor = page.getByRole("textbox", { name: /^Item / });
    const label = await editor.getAttribute("aria-label");
    const item = JSON.parse(await editor.innerText());
    await write(page, label, JSON.stringify({ ...item, note: "not lost", large: 0 }, null, 2).replace('"large": 0', '"large": 9007199254740993'));
    await leaveAndReturn(page, ITEMS, () => holds(page, label, "not lost"));
    await page.getByRole("button", { name: "Read again" }).click();
    await page.getByLabel("Filter: a condition over c").fill("c.id = 'nothing'");
    await page.keyboard.press("Enter");
    await page.getByText("No item fits the filter.").waitFor();
    await holds(page, label, "9007199254740993");
    await picture(page, "dark-draft-item");
    await page.getByRole("button", { name: "Save" }).click();
    await notice(page, "Saved for");
    const key = { headers: { "x-ms-documentdb-partitionkey": JSON.stringify([item.author]) } };
    assert.equal((await shop.server.ask("GET", `${BOOKS}/docs/${item.id}`, key)).note, "not lost");
    await page.reload();
    await page.getByRole("grid", { name: "Items" }).waitFor();
    assert.equal(await page.locator(".detail").count(), 0, "what is saved is no draft");

    await page.getByRole("button", { name: "New", exact: true }).click();
    await write(page, "New item", '{"id": "half');
    await page.reload();
    await holds(page, "New item", '{"id": "half');
    await page.getByRole("button", { name: "Close the item" }).click();
    await page.getByRole("dialog", { name: "Leave the changes behind?" }).getByRole("button", { name: "Leave them" }).click();
    await page.reload();
    await page.getByRole("grid", { name: "Items" }).waitFor();
    assert.equal(await page.locator(".detail").count(), 0);
  });
});

test("the text of a script stays, and says that it is not saved", async () => {
  await shop.on(`${SCRIPTS.slice(1)}/udfs/gross`, {}, async (page) => {
    const name = "Text of gross";
    const written = "function gross(price) { return price * 1.19; }";
    await write(page, name, written);
    await page.locator(".script-list", { hasText: "not saved" }).waitFor();
    await leaveAndReturn(page, SCRIPTS, () => eventually(
      async () => {
        await page.getByRole("button", { name: /^gross/ }).click();
        return textOf(page, name);
      },
      (shown) => shown === written,
    ));
    await picture(page, "dark-draft-script");
    await page.getByRole("button", { name: "Forget the key" }).click();
    await page.getByRole("dialog").getByText("1 text that is not saved will be forgotten with it.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Undo" }).click();
    await holds(page, name, "1.2");
    assert.equal(await page.getByText("not saved").count(), 0);
  });
});

test("the text of a query is there after a reload", async () => {
  await shop.on("/db/shop/books/query", {}, async (page) => {
    await write(page, "Query", "SELECT VALUE 'kept'");
    await page.reload();
    await holds(page, "Query", "SELECT VALUE 'kept'");
  });
});

test("a page that alone has a draft asks before it goes", async () => {
  await shop.on(ITEMS.slice(1), {}, async (page) => {
    await page.evaluate(() => {
      Storage.prototype.setItem = () => { throw new DOMException("no room", "QuotaExceededError"); };
    });
    await page.getByRole("button", { name: "New", exact: true }).click();
    await write(page, "New item", '{"id": "large"}');
    const [dialog] = await Promise.all([page.waitForEvent("dialog"), page.goto("about:blank").catch(() => {})]);
    assert.equal(dialog.type(), "beforeunload");
    await dialog.dismiss();
    await holds(page, "New item", '{"id": "large"}');
  });
});

/** Runs a procedure by one click and gives the requests that reached the server for it. */
async function click(page, id, told) {
  const log = () => shop.server.ask("GET", "_orrery/requests?after=0", { type: "requests", link: "" });
  await log();
  await page.getByLabel("Partition key (/author)").fill("Lem");
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("alert").filter({ hasText: told }).waitFor();
  const { requests } = await log();
  return requests.filter(({ method, path }) => method === "POST" && path.endsWith(`/sprocs/${id}`)).map(({ status }) => status);
}

test("a procedure that takes too long runs once for one click", async () => {
  await shop.server.ask("POST", `${BOOKS}/sprocs`, { body: { id: "endless", body: "function endless() { for (;;); }" } });
  await shop.on(`${SCRIPTS.slice(1)}/sprocs/endless`, {}, async (page) => {
    assert.deepEqual(await click(page, "endless", "(408)"), [408]);
  });
});

test("a procedure that is refused for its rate is not run again", async () => {
  await shop.server.ask("POST", `${BOOKS}/sprocs`, { body: { id: "refused", body: "function refused() {}" } });
  await shop.on(`${SCRIPTS.slice(1)}/sprocs/refused`, {}, async (page) => {
    let runs = 0;
    await page.route("**/sprocs/refused", (route) => {
      runs++;
      return route.fulfill({ status: 429, headers: { "x-ms-retry-after-ms": "1", "x-ms-substatus": "3200" }, body: '{"code":"429","message":"Request rate is large."}' });
    });
    await page.getByLabel("Partition key (/author)").fill("Lem");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("alert").filter({ hasText: "(429/3200)" }).waitFor();
    assert.equal(runs, 1);
  });
});
