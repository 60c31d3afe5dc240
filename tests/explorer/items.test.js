// The items screen: as many as there are, filtered, written, in conflict, deleted, uploaded.

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAccess, count, eventually, notice, picture } from "./support/browser.js";
import { BOOK_COUNT } from "./support/data.js";
import { world, write } from "./support/world.js";

const HERE = "/db/shop/books/items";
const CONTAINER = "dbs/shop/colls/books";

/** Authors take turns, and this one is the tenth of twelve. */
const LAST_OF_BANKS = BOOK_COUNT - 3;

const shop = world();

const grid = (page) => page.getByRole("grid", { name: "Items" });
const row = (page, id) => grid(page).getByRole("row").filter({ hasText: id });
const key = (author) => ({ headers: { "x-ms-documentdb-partitionkey": JSON.stringify([author]) } });
const readItem = (id, author) => shop.server.ask("GET", `${CONTAINER}/docs/${id}`, key(author));
const saved = (page) => notice(page, "Saved for");

test("scrolling reads page after page, and only the rows in sight exist", async () => {
  await shop.on(HERE, {}, async (page) => {
    await page.getByText("100 items so far").waitFor();
    await eventually(async () => {
      await grid(page).evaluate((element) => element.scrollTo(0, element.scrollHeight));
      return page.getByText(`${BOOK_COUNT.toLocaleString("en")} items ·`).isVisible();
    }, (isAll) => isAll);
    assert.equal(await grid(page).getAttribute("aria-rowcount"), String(BOOK_COUNT + 1));
    assert.ok((await grid(page).getByRole("row").count()) < 80);
  });
});

test("a filter is a condition, and a wrong one is explained", async () => {
  await shop.on(HERE, {}, async (page) => {
    const filter = page.getByLabel("Filter: a condition over c");
    await filter.fill("c.author = 'Lem' AND c.year < 1960");
    await filter.press("Enter");
    await page.getByText(/^\d\d items ·/).waitFor();
    assert.equal(await row(page, "Butler").count(), 0);
    await filter.fill("WHERE c.id = 'nothing'");
    await filter.press("Enter");
    await page.getByText("No item fits the filter.").waitFor();
    await filter.fill("c.author = = 1");
    await filter.press("Enter");
    await page.getByRole("alert").filter({ hasText: "Syntax error" }).waitFor();
  });
});

test("an item is made, changed, duplicated and deleted", async () => {
  await shop.on(HERE, {}, async (page) => {
    await grid(page).waitFor();
    await page.getByRole("button", { name: "New", exact: true }).click();
    await write(page, "New item", '{"id": "fresh", "author": ');
    await page.getByRole("alert").waitFor();
    assert.equal(await page.getByRole("button", { name: "Create", exact: true }).isDisabled(), true);
    await write(page, "New item", '{"id": "fresh", "author": "Chiang", "large": 9007199254740993}');
    await page.keyboard.press("Control+s");
    await saved(page);
    await write(page, "Item fresh", (await page.getByRole("textbox", { name: "Item fresh" }).innerText()).replace('"large"', '"changed": true, "large"'));
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".detail .note", { hasText: "changed" }).waitFor({ state: "hidden" });
    const stored = await shop.server.ask("POST", `${CONTAINER}/docs`, {
      body: { query: "SELECT VALUE ToString(c.large) FROM c WHERE c.id = 'fresh' AND c.changed" },
      headers: { "content-type": "application/query+json", "x-ms-documentdb-isquery": "True", "x-ms-documentdb-query-enablecrosspartition": "True" },
    });
    assert.deepEqual(stored.Documents, ["9007199254740993"], "a number of 64 bits stays what it was");

    await page.getByRole("button", { name: "Duplicate" }).click();
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await row(page, "fresh-copy").waitFor();
    assert.equal((await readItem("fresh-copy", "Chiang")).changed, true);

    await page.getByRole("region", { name: "Item fresh-copy" }).getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await row(page, "fresh-copy").waitFor({ state: "detached" });
    await assert.rejects(readItem("fresh-copy", "Chiang"), /404/);
  });
});

test("somebody else's change is shown as a difference before it is overwritten", async () => {
  await shop.on(HERE, {}, async (page) => {
    await grid(page).waitFor();
    const first = await grid(page).getByRole("row").nth(1).getByRole("gridcell").nth(1).innerText();
    await row(page, first).click();
    const editor = page.getByRole("textbox", { name: `Item ${first}` });
    const mine = JSON.parse(await editor.innerText());
    await shop.server.ask("PUT", `${CONTAINER}/docs/${first}`, { ...key(mine.author), body: { ...mine, price: 1, note: "theirs" } });
    await write(page, `Item ${first}`, JSON.stringify({ ...mine, price: 2 }, null, 2));
    await page.keyboard.press("Control+s");
    const dialog = page.getByRole("dialog", { name: "The item has changed on the server" });
    await dialog.getByText("theirs").waitFor();
    await checkAccess(page, "the difference");
    await picture(page, "dark-conflict");
    assert.equal((await readItem(first, mine.author)).note, "theirs", "nothing is overwritten unasked");
    await dialog.getByRole("button", { name: "Overwrite with yours" }).click();
    await saved(page);
    const now = await readItem(first, mine.author);
    assert.deepEqual([now.price, now.note], [2, undefined]);
  });
});

test("changes are not lost by opening another item", async () => {
  await shop.on(HERE, {}, async (page) => {
    await grid(page).getByRole("row").nth(3).click();
    await page.getByRole("textbox", { name: /^Item / }).click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type(" ");
    await grid(page).getByRole("row").nth(5).click();
    const dialog = page.getByRole("dialog", { name: "Leave the changes behind?" });
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.locator(".detail .note", { hasText: "changed" }).waitFor();
  });
});

test("rows are walked and marked with the keyboard and deleted together", async () => {
  await shop.on(HERE, {}, async (page) => {
    await page.getByLabel("Filter: a condition over c").fill("c.author = 'Banks' ORDER BY c.id DESC");
    await page.keyboard.press("Enter");
    // Before the filter there are books of this author too; this is the last of them.
    await grid(page).getByRole("row").nth(1).filter({ hasText: `book-${LAST_OF_BANKS}` }).waitFor();
    await grid(page).focus();
    await page.keyboard.press(" ");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press(" ");
    await page.keyboard.press("Shift+ArrowDown");
    await count(grid(page).locator(".marked"), 3);
    const ids = await grid(page).locator(".marked .cell:nth-child(2)").allInnerTexts();
    assert.equal(ids.length, 3);
    await page.keyboard.press("Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete 3" }).click();
    await notice(page, "3 items deleted.");
    for (const id of ids) await assert.rejects(readItem(id, "Banks"), /404/);
  });
});

test("a mistake in JSON is marked where it is", async () => {
  await shop.on(HERE, {}, async (page) => {
    await grid(page).waitFor();
    await page.getByRole("button", { name: "New", exact: true }).click();
    for (const [text, place, marked] of [
      ['{\n  "id": "1",\n  "price": x\n}', "Line 3, column 12: A value is expected here.", "x"],
      ['{\n  "id": "1"\n  "price": 1\n}', "Line 3, column 3: A comma or } is expected here.", '"'],
      ['{\n  "id": "1",\n}', "Line 3, column 1: A name in double quotes is expected here.", "}"],
      ['{\n  "id": "1",\n  "tags": ["a\n]}', "Line 3, column 12: The string has no closing quote on its line.", '"'],
      ['{\n  "id": "1",\n  "price": 01 }', "Line 3, column 12: A value is expected here.", "0"],
      ['{\n  "id": "1"\n} x', "Line 3, column 3: Nothing may follow the value.", "x"],
    ]) {
      await write(page, "New item", text);
      await page.getByRole("alert").filter({ hasText: place }).waitFor();
      await eventually(() => page.locator(".cm-lintRange-error").allInnerTexts(), (texts) => texts.join() === marked);
    }
    await picture(page, "dark-json-mistake");
    await write(page, "New item", '{\n  "id": "1",');
    await page.getByRole("alert").filter({ hasText: "Line 2, column 13: The text ends too early." }).waitFor();
  });
});

test("after all rows in sight are deleted the next ones come", async () => {
  await shop.on("/db/shop/many/items", {}, async (page) => {
    const marked = page.getByLabel("Mark all rows");
    await page.getByText("100 items so far").waitFor();
    await marked.check();
    await page.getByRole("button", { name: "Download 100 items" }).click();
    await notice(page, "100 items downloaded. There are more on the server");
    await page.getByRole("button", { name: "Delete 100" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Items that are not read yet stay.").waitFor();
    await dialog.getByRole("button", { name: "Delete 100" }).click();
    await notice(page, "100 items deleted.");
    await row(page, "m-").first().waitFor();
    assert.equal(await page.getByText("There is no item yet.").count(), 0);
    await marked.check();
    await page.getByRole("button", { name: /^Delete \d+$/ }).click();
    await dialog.getByRole("button", { name: /^Delete \d+$/ }).click();
    await page.getByText("There is no item yet.").waitFor();
  });
});

test("a file of items is uploaded, and what fails is named", async () => {
  await shop.on("/db/shop/orders/items", {}, async (page) => {
    const orders = Array.from({ length: 300 }, (_, number) => ({ id: `order-${number}`, customer: `c${number % 9}`, day: "2026-11-15", total: number }));
    const refused = { id: "bad-ttl", customer: "c", day: "d", ttl: 0 };
    await page.getByRole("button", { name: "Upload" }).click();
    await page.locator('input[type="file"]').setInputFiles([
      { name: "orders.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(orders)) },
      { name: "more.jsonl", mimeType: "application/json", buffer: Buffer.from(`${JSON.stringify({ customer: "no id", day: "d" })}\n${JSON.stringify(refused)}\n`) },
    ]);
    // The container has 400 RU/s: what is throttled is repeated.
    await page.getByText("302 of 302 items").waitFor();
    await page.getByText(/bad-ttl: .*400/).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
    await page.getByText("100 items so far").waitFor();
  });
});
