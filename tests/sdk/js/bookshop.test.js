// The example of the guides, with its own files.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import {
  addAuthor,
  openShop,
  publish,
  ratings,
  remove,
  review,
  tour,
} from "../../../examples/bookshop/bookshop.js";
import { fails, suite, unique } from "./setup.js";

const context = suite();
const newShop = () => openShop(context.database, unique("bookshop"));

async function count(shop, author) {
  return (await shop.item(author, author).read()).resource.countOfBooks;
}

test("the tour is that of the README", async () => {
  const told = [];
  for await (const line of tour(await newShop())) {
    told.push(`    ${line}`);
  }
  const readme = new URL("../../../examples/bookshop/README.md", import.meta.url);
  const text = await readFile(readme, "utf8");
  assert.ok(text.includes(told.join("\n")), told.join("\n"));
});

test("a book and its count change together", async () => {
  const shop = await newShop();
  await addAuthor(shop, "lem");
  const published = await publish(shop, "lem", "solaris", "Solaris");
  assert.deepEqual(published, { id: "solaris", countOfBooks: 1 });
  await fails(publish(shop, "lem", "solaris", "Solaris again"), 400, 409);
  assert.equal(await count(shop, "lem"), 1);
  const error = await fails(publish(shop, "nobody", "book", "Book"), 400, 404);
  assert.match(error.message, /there is no author nobody/);
  assert.deepEqual(await remove(shop, "lem", "solaris"), { countOfBooks: 0, reviews: 0 });
  assert.equal((await shop.item("solaris", "lem").read()).statusCode, 404);
});

test("a review needs its book", async () => {
  const shop = await newShop();
  await addAuthor(shop, "lem");
  await publish(shop, "lem", "solaris", "Solaris");
  assert.equal((await review(shop, "lem", "r1", "solaris", 4)).title, "Solaris");
  const error = await fails(review(shop, "lem", "r2", "fiasco", 4), 400, 404);
  assert.match(error.message, /there is no book fiasco/);
  assert.deepEqual(await ratings(shop), [{ title: "Solaris", stars: "★★★★☆" }]);
});
