// Databases and containers, and the throughput they have.

import type { PartitionKeyDefinition } from "./partition_key";
import { type Answer, type Ask, send } from "./request";

export interface Resource {
  id: string;
  _rid: string;
  _self: string;
  _etag: string;
  _ts: number;
}

export interface ContainerDefinition extends Resource {
  partitionKey: PartitionKeyDefinition;
  indexingPolicy: unknown;
  defaultTtl?: number;
  uniqueKeyPolicy?: { uniqueKeys: { paths: string[] }[] };
  conflictResolutionPolicy?: { mode: string; conflictResolutionPath?: string; conflictResolutionProcedure?: string };
  computedProperties?: { name: string; query: string }[];
}

export interface Account {
  id: string;
  writableLocations: { name: string; databaseAccountEndpoint: string }[];
  readableLocations: { name: string; databaseAccountEndpoint: string }[];
  userConsistencyPolicy: { defaultConsistencyLevel: string };
}

export interface Offer extends Resource {
  offerResourceId: string;
  content: {
    offerThroughput?: number;
    offerAutopilotSettings?: { maxThroughput: number };
    offerMinimumThroughputParameters?: unknown;
  };
}

export interface ContainerName {
  database: string;
  container: string;
}

export const databaseLink = (database: string) => `dbs/${database}`;
export const containerLink = ({ database, container }: ContainerName) => `dbs/${database}/colls/${container}`;
export const containerPath = ({ database, container }: ContainerName) => ["dbs", database, "colls", container];

export async function readAccount(): Promise<Account> {
  return (await send<Account>({ path: [], type: "", link: "" })).body;
}

/** All pages of a feed of the catalogue. */
export async function readFeed<T>(ask: Ask, property: string): Promise<T[]> {
  const all: T[] = [];
  let continuation: string | undefined;
  do {
    const page: Answer<Record<string, T[]>> = await send({
      ...ask,
      headers: { ...ask.headers, "x-ms-continuation": continuation },
    });
    all.push(...(page.body[property] ?? []));
    continuation = page.headers.get("x-ms-continuation") ?? undefined;
  } while (continuation);
  return all;
}

export function listDatabases(): Promise<Resource[]> {
  return readFeed({ path: ["dbs"], type: "dbs", link: "" }, "Databases");
}

export function listContainers(database: string): Promise<ContainerDefinition[]> {
  const link = databaseLink(database);
  return readFeed({ path: ["dbs", database, "colls"], type: "colls", link }, "DocumentCollections");
}

export function listOffers(): Promise<Offer[]> {
  return readFeed({ path: ["offers"], type: "offers", link: "" }, "Offers");
}

export type Throughput = { mode: "none" } | { mode: "manual" | "autoscale"; value: number };

function throughputHeaders(throughput: Throughput): Record<string, string> {
  switch (throughput.mode) {
    case "none":
      return {};
    case "manual":
      return { "x-ms-offer-throughput": String(throughput.value) };
    case "autoscale":
      return { "x-ms-cosmos-offer-autopilot-settings": JSON.stringify({ maxThroughput: throughput.value }) };
  }
}

export async function createDatabase(id: string, throughput: Throughput): Promise<void> {
  const headers = throughputHeaders(throughput);
  await send({ method: "POST", path: ["dbs"], type: "dbs", link: "", headers, body: { id } });
}

export async function deleteDatabase(database: string): Promise<void> {
  await send({ method: "DELETE", path: ["dbs", database], type: "dbs", link: databaseLink(database) });
}

export async function createContainer(database: string, definition: object, throughput: Throughput): Promise<void> {
  await send({
    method: "POST",
    path: ["dbs", database, "colls"],
    type: "colls",
    link: databaseLink(database),
    headers: throughputHeaders(throughput),
    body: definition,
  });
}

export async function deleteContainer(name: ContainerName): Promise<void> {
  await send({ method: "DELETE", path: containerPath(name), type: "colls", link: containerLink(name) });
}

export interface ContainerState {
  definition: ContainerDefinition;
  /** Percent of the items that follow the indexing policy. */
  indexProgress: number;
  items: number;
  documentsKb: number;
}

export async function readContainer(name: ContainerName): Promise<ContainerState> {
  const answer = await send<ContainerDefinition>({
    path: containerPath(name),
    type: "colls",
    link: containerLink(name),
    headers: { "x-ms-documentdb-populatequotainfo": "True" },
  });
  const usage = new Map(
    (answer.headers.get("x-ms-resource-usage") ?? "").split(";").map((pair) => pair.split("=") as [string, string]),
  );
  return {
    definition: answer.body,
    indexProgress: Number(answer.headers.get("x-ms-documentdb-collection-index-transformation-progress") ?? 100),
    items: Number(usage.get("documentsCount") ?? 0),
    documentsKb: Number(usage.get("documentsSize") ?? 0),
  };
}

export async function replaceContainer(name: ContainerName, definition: ContainerDefinition): Promise<void> {
  await send({
    method: "PUT",
    path: containerPath(name),
    type: "colls",
    link: containerLink(name),
    headers: { "if-match": definition._etag },
    body: definition,
  });
}

export interface OfferState {
  offer: Offer;
  minimum: number;
}

export function throughputOf(offer: Offer): Throughput {
  const autoscale = offer.content.offerAutopilotSettings?.maxThroughput;
  if (autoscale) return { mode: "autoscale", value: autoscale };
  return { mode: "manual", value: offer.content.offerThroughput ?? 0 };
}

/** The offer of a database or container, with the least that it can be set to. */
export async function readOffer(ownerRid: string): Promise<OfferState | undefined> {
  const offer = (await listOffers()).find((offer) => offer.offerResourceId === ownerRid);
  if (!offer) return undefined;
  const answer = await send<Offer>({ path: ["offers", offer._rid], type: "offers", link: offer._rid.toLowerCase() });
  return { offer: answer.body, minimum: Number(answer.headers.get("x-ms-cosmos-min-throughput") ?? 400) };
}

/** A change of the mode has a header of its own and lets the server choose the value first. */
export async function replaceOffer(offer: Offer, throughput: Throughput): Promise<void> {
  const before = throughputOf(offer);
  const put = (body: Offer, headers: Record<string, string>) =>
    send<Offer>({ method: "PUT", path: ["offers", offer._rid], type: "offers", link: offer._rid.toLowerCase(), headers, body });
  let current = offer;
  if (before.mode !== throughput.mode) {
    const header =
      throughput.mode === "autoscale"
        ? "x-ms-cosmos-migrate-offer-to-autopilot"
        : "x-ms-cosmos-migrate-offer-to-manual-throughput";
    current = (await put(offer, { [header]: "true" })).body;
  }
  const after = throughputOf(current);
  if (throughput.mode === "none" || (after.mode !== "none" && after.value === throughput.value)) return;
  const content = { ...current.content };
  if (throughput.mode === "autoscale") content.offerAutopilotSettings = { maxThroughput: throughput.value };
  else content.offerThroughput = throughput.value;
  await put({ ...current, content }, {});
}
