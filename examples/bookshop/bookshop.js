// The bookshop with the JavaScript SDK: `node bookshop.js` against the server of the environment.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

async function source(id) {
  return { id, body: await readFile(new URL(`scripts/${id}.js`, import.meta.url), "utf8") };
}

/** An empty shop with its scripts. An author and all that is hers share one logical partition. */
export async function openShop(database, id = "bookshop") {
  const partitionKey = { paths: ["/author"] };
  const { container: shop } = await database.containers.create({ id, partitionKey });
  const { storedProcedures, triggers, userDefinedFunctions } = shop.scripts;
  await storedProcedures.create(await source("publishBook"));
  await storedProcedures.create(await source("removeBook"));
  const when = { triggerType: "Pre", triggerOperation: "Create" };
  await triggers.create({ ...(await source("reviewNeedsBook")), ...when });
  await userDefinedFunctions.create(await source("stars"));
  return shop;
}

export async function addAuthor(shop, author) {
  await shop.items.create({ id: author, author, type: "author", countOfBooks: 0 });
}

export async function publish(shop, author, id, title) {
  const procedure = shop.scripts.storedProcedure("publishBook");
  return (await procedure.execute(author, [{ id, author, title }])).resource;
}

export async function remove(shop, author, book) {
  return (await shop.scripts.storedProcedure("removeBook").execute(author, [book])).resource;
}

export async function review(shop, author, id, book, rating) {
  const options = { preTriggerInclude: ["reviewNeedsBook"] };
  return (await shop.items.create({ id, author, book, rating }, options)).resource;
}

/** Titles and stars over all authors. */
export async function ratings(shop) {
  const query = "SELECT c.title, udf.stars(c.rating) AS stars FROM c WHERE c.type = 'review'";
  return (await shop.items.query(query).fetchAll()).resources;
}

/** What the README tells, line by line. */
export async function* tour(shop) {
  const refusal = (error) => `${error.code}/${error.substatus}`;
  await addAuthor(shop, "lem");
  yield `published: ${JSON.stringify(await publish(shop, "lem", "solaris", "Solaris"))}`;
  yield `published: ${JSON.stringify(await publish(shop, "lem", "eden", "Eden"))}`;
  yield await publish(shop, "lem", "eden", "Eden again").catch(
    (error) => `not published twice: ${refusal(error)}`,
  );
  yield `counted: ${(await shop.item("lem", "lem").read()).resource.countOfBooks}`;
  await review(shop, "lem", "r1", "solaris", 5);
  await review(shop, "lem", "r2", "eden", 3);
  yield await review(shop, "lem", "r3", "fiasco", 4).catch(
    (error) => `not reviewed: ${refusal(error)}`,
  );
  const rows = await ratings(shop);
  rows.sort((one, other) => (one.title < other.title ? -1 : 1));
  for (const { title, stars } of rows) {
    yield `rated: ${title} ${stars}`;
  }
  yield `removed: ${JSON.stringify(await remove(shop, "lem", "eden"))}`;
}

async function main() {
  const { CosmosClient } = await import("@azure/cosmos");
  const { ORRERY_ENDPOINT: endpoint, ORRERY_KEY: key } = process.env;
  const client = new CosmosClient({ endpoint, key });
  const { database } = await client.databases.createIfNotExists({ id: "examples" });
  const shop = await openShop(database);
  try {
    for await (const line of tour(shop)) {
      console.log(line);
    }
  } finally {
    await shop.delete();
    client.dispose();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await main();
}
