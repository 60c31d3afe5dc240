// Accounts with regions: started for a test file, ordered about as an operator would, and watched.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { startServer } from "./server.js";
import { connect } from "./setup.js";

export const WEST = "West US";
export const NORTH = "North Europe";
export const ASIA = "Southeast Asia";
/** Not a region, but the address of all of them. */
export const WHOLE = "the account";

const WAIT_MS_MAX = 60_000;

/** A server in memory with these regions and the container `db/c`; the first takes the writes. */
export async function startAccount(names, ...options) {
  const more = names.flatMap((name) => ["--region", name]);
  const account = new Account(await startServer({ more: [...more, ...options] }));
  const client = account.client([]);
  const { database } = await client.databases.create({ id: "db" });
  await database.containers.create({ id: "c", partitionKey: { paths: ["/pk"], version: 2 } });
  client.dispose();
  await account.waitEven();
  return account;
}

class Account {
  constructor(server) {
    this.server = server;
    this.clients = [];
    this.namesByUrl = new Map(server.regions.map(({ name, endpoint }) => [endpoint, name]));
    this.namesByUrl.set(server.account, WHOLE);
  }

  async stop() {
    this.clients.forEach((client) => client.dispose());
    await this.server.stop();
  }

  /** A client that prefers these regions and knows the account by the endpoint of `at`. */
  client(preferredLocations, { at, connectionPolicy, ...options } = {}) {
    const urls = [...this.namesByUrl].filter(([, name]) => name === at).map(([url]) => url);
    const client = connect(
      { ...this.server, endpoint: urls[0] ?? this.server.endpoint },
      { connectionPolicy: { preferredLocations, ...connectionPolicy }, ...options },
    );
    this.clients.push(client);
    return client;
  }

  /** The container through a client of its own, and where each of its attempts goes. */
  watched(preferredLocations, options) {
    const trace = new Trace(this);
    const client = this.client(preferredLocations, { ...options, plugins: [trace.plugin()] });
    return { client, container: client.database("db").container("c"), trace };
  }

  async report() {
    return this.#order("GET", "/account");
  }

  async state(region) {
    const { regions } = await this.report();
    return regions.find(({ name }) => name === region);
  }

  async failover(to, how = {}) {
    return this.#order("POST", "/account/failover", { to, ...how });
  }

  async takeDown(region, partition) {
    const about = partition && { partition };
    return this.#order("POST", `/regions/${encodeURIComponent(region)}/down`, about);
  }

  async bringUp(region, partition) {
    const about = partition && { partition };
    return this.#order("POST", `/regions/${encodeURIComponent(region)}/up`, about);
  }

  async add(region) {
    const { endpoint } = await this.#order("POST", "/regions", { name: region });
    this.namesByUrl.set(endpoint, region);
  }

  async remove(region) {
    return this.#order("DELETE", `/regions/${encodeURIComponent(region)}`);
  }

  async link(from, to, order, more = {}) {
    const path = `/links/${encodeURIComponent(from)}/${encodeURIComponent(to)}`;
    return this.#order("POST", path, { order, ...more });
  }

  /** Records wait on this link while `work` goes on. */
  async paused(from, to, work) {
    await this.link(from, to, "pause");
    try {
      return await work();
    } finally {
      await this.link(from, to, "resume");
    }
  }

  /** Until these regions have applied the same, or all that are up if none is named. */
  async waitEven(...names) {
    const counts = ({ name, state }) =>
      names.length > 0 ? names.includes(name) : ["write", "read"].includes(state);
    await waitUntil(async () => {
      const { regions } = await this.report();
      const rows = regions.filter(counts);
      return new Set(rows.flatMap(({ kept, applied }) => [kept, applied])).size === 1;
    });
  }

  /** Until nothing that one region wrote is missing in another, where several of them write. */
  async waitNothingMissing() {
    await waitUntil(async () => {
      const { links } = await this.report();
      return links.every(({ behind }) => !behind?.records);
    });
  }

  /** Until every region knows which takes the writes: an order is done before the others have heard. */
  async waitHeard(writeRegion) {
    const names = (await this.report()).regions.map(({ name }) => name);
    for (const client of names.map((at) => this.client([], { at }))) {
      await waitUntil(async () => {
        const { resource } = await client.getDatabaseAccount();
        return resource.writableLocations.every(({ name }) => name === writeRegion);
      });
    }
  }

  /** Until a region itself answers a read of item 1 of the key `a` so: it hears last what became of it. */
  async waitAnswer(at, status) {
    const connectionPolicy = { enableEndpointDiscovery: false };
    const item = this.watched([], { at, connectionPolicy }).container.item("1", "a");
    await waitUntil(async () => {
      const answer = await item.read().catch((error) => error);
      return (answer.statusCode ?? answer.code) === status;
    });
  }

  async #order(method, path, body) {
    const { endpoint, key } = this.server.management;
    const response = await fetch(new URL(path, endpoint), {
      method,
      headers: { authorization: `Bearer ${key}` },
      body: body && JSON.stringify(body),
    });
    const answer = await response.json();
    assert.ok(response.ok, answer.message);
    return answer;
  }
}

/** Where every attempt of an operation on items went and how it was answered: "North Europe 404/1002". */
class Trace {
  constructor(account) {
    this.account = account;
    this.attempts = [];
  }

  plugin() {
    const plugin = async (context, _node, next) => {
      if (context.resourceType !== "docs") {
        return next(context);
      }
      const region = this.account.namesByUrl.get(new URL(context.endpoint).href);
      try {
        const response = await next(context);
        this.attempts.push(`${region} ${response.code}`);
        return response;
      } catch (error) {
        const substatus = error.substatus ? `/${error.substatus}` : "";
        this.attempts.push(`${region} ${error.code}${substatus}`);
        throw error;
      }
    };
    return { on: "request", plugin };
  }

  /** What happened since the last look. */
  take() {
    return this.attempts.splice(0);
  }
}

export async function waitUntil(holds) {
  const deadline = Date.now() + WAIT_MS_MAX;
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, "waited in vain");
    await sleep(20);
  }
}
