// A bookshop: enough books for many pages, several physical partitions, scripts, users.

export const SHOP = "shop";
export const BOOKS = "books";
export const BOOK_COUNT = 2_400;
/** Items of a container that is there to be emptied: more than a page has, less than two. */
export const MANY_COUNT = 130;

const AUTHORS = ["Le Guin", "Lem", "Butler", "Borges", "Calvino", "Atwood", "Čapek", "Strugatsky", "Liu", "Banks", "Jemisin", "Chiang"];
const WORDS = ["Night", "Glass", "Orchard", "Signal", "River", "Machine", "Library", "Winter", "Star", "Garden", "Mirror", "Tide"];
const LANGUAGES = ["en", "de", "pl", "es", "it", "cs", "zh"];
const AT_ONCE = 16;

export function book(number) {
  return {
    id: `book-${String(number).padStart(4, "0")}`,
    author: AUTHORS[number % AUTHORS.length],
    title: `The ${WORDS[(number * 5) % WORDS.length]} and the ${WORDS[(number * 7 + 3) % WORDS.length]}`,
    price: (500 + ((number * 37) % 4000)) / 100,
    year: 1950 + (number % 74),
    language: LANGUAGES[number % LANGUAGES.length],
    stock: { shelf: number % 17, count: (number * 3) % 40 },
    tags: ["fiction", WORDS[number % WORDS.length].toLowerCase()],
  };
}

export async function fill(server) {
  const container = `dbs/${SHOP}/colls/${BOOKS}`;
  await server.ask("POST", "dbs", { body: { id: SHOP } });
  await server.ask("POST", `dbs/${SHOP}/colls`, {
    body: { id: BOOKS, partitionKey: { paths: ["/author"], kind: "Hash", version: 2 } },
    headers: { "x-ms-offer-throughput": "40000" },
  });
  await server.ask("POST", `dbs/${SHOP}/colls`, {
    body: { id: "orders", partitionKey: { paths: ["/customer", "/day"], kind: "MultiHash", version: 2 } },
    headers: { "x-ms-offer-throughput": "400" },
  });
  await server.ask("POST", "dbs", { body: { id: "archive" }, headers: { "x-ms-offer-throughput": "400" } });
  await server.ask("POST", "dbs/archive/colls", {
    body: { id: "events", partitionKey: { paths: ["/source"], kind: "Hash", version: 2 }, defaultTtl: 86_400 },
  });
  await server.ask("POST", `dbs/${SHOP}/colls`, {
    body: { id: "many", partitionKey: { paths: ["/id"], kind: "Hash", version: 2 } },
    headers: { "x-ms-offer-throughput": "4000" },
  });
  for (let number = 0; number < MANY_COUNT; number++) {
    await server.ask("POST", `dbs/${SHOP}/colls/many/docs`, { body: { id: `m-${number}` } });
  }
  const numbers = Array.from({ length: BOOK_COUNT }, (_, number) => number).values();
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (const number of numbers) await server.ask("POST", `${container}/docs`, { body: book(number) });
  }));
  await server.ask("POST", `${container}/udfs`, { body: { id: "gross", body: "function gross(price) { return price * 1.2; }" } });
  await server.ask("POST", `dbs/${SHOP}/users`, { body: { id: "reader" } });
}
