// Databases and containers, and their throughput.

import type { PartitionKeyDefinition } from "./partition_key";
import { type Answer, type RequestSpec, send } from "./request";

/** The system properties that every resource has. */
export interface Resource {
  id: string;
  _rid: string;
  _self: string;
  _etag: string;
  _ts: number;
}

/** The definition of a container, as far as the screens read it. */
export interface ContainerDefinition extends Resource {
  partitionKey: PartitionKeyDefinition;
  indexingPolicy: unknown;
  defaultTtl?: number;
  uniqueKeyPolicy?: { uniqueKeys: { paths: string[] }[] };
  conflictResolutionPolicy?: { mode: string; conflictResolutionPath?: string; conflictResolutionProcedure?: string };
  computedProperties?: { name: string; query: string }[];
}

/** The account document. */
export interface Account {
  id: string;
  writableLocations: { name: string; databaseAccountEndpoint: string }[];
  readableLocations: { name: string; databaseAccountEndpoint: string }[];
  userConsistencyPolicy: { defaultConsistencyLevel: string };
}

/** The resource with the throughput of a database or container. */
export interface Offer extends Resource {
  offerResourceId: string;
  content: {
    offerThroughput?: number;
    offerAutopilotSettings?: { maxThroughput: number };
    offerMinimumThroughputParameters?: unknown;
  };
}

/** The names that address a container. */
export interface ContainerName {
  database: string;
  container: string;
}

export const databaseLink = (database: string) => `dbs/${database}`;
export const containerLink = ({ database, container }: ContainerName) => `dbs/${database}/colls/${container}`;
export const containerPath = ({ database, container }: ContainerName) => ["dbs", database, "colls", container];

/** Reads the account document. */
export async function readAccount(): Promise<Account> {
  return (await send<Account>({ path: [], type: "", link: "" })).body;
}

/** Reads all pages of a feed of the catalogue. */
export async function readFeed<T>(request: RequestSpec, property: string): Promise<T[]> {
  const all: T[] = [];
  let continuation: string | undefined;
  do {
    const page: Answer<Record<string, T[]>> = await send({
      ...request,
      headers: { ...request.headers, "x-ms-continuation": continuation },
    });
    all.push(...(page.body[property] ?? []));
    continuation = page.headers.get("x-ms-continuation") ?? undefined;
  } while (continuation);
  return all;
}

/** Lists all databases. */
export function listDatabases(): Promise<Resource[]> {
  return readFeed({ path: ["dbs"], type: "dbs", link: "" }, "Databases");
}

/** Lists the containers of a database. */
export function listContainers(database: string): Promise<ContainerDefinition[]> {
  const link = databaseLink(database);
  return readFeed({ path: ["dbs", database, "colls"], type: "colls", link }, "DocumentCollections");
}

/** Lists the offers of all databases and containers. */
export function listOffers(): Promise<Offer[]> {
  return readFeed({ path: ["offers"], type: "offers", link: "" }, "Offers");
}

/** The throughput that a person chooses. `none` shares the throughput of the database. */
export type Throughput = { mode: "none" } | { mode: "manual" | "autoscale"; value: number };

/** The headers that set the throughput of a new database or container. */
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

/** A container with its size and the progress of its index. */
export interface ContainerState {
  definition: ContainerDefinition;
  /** The percentage of the items that follow the present indexing policy. */
  indexProgress: number;
  items: number;
  documentsKb: number;
}

/** Reads a container with its size. */
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
    // The condition keeps a change that another client made since this page read the definition.
    headers: { "if-match": definition._etag },
    body: definition,
  });
}

/** An offer, and the least throughput that the server accepts. */
export interface OfferState {
  offer: Offer;
  minimum: number;
}

/** The throughput of an offer. */
export function throughputOf(offer: Offer): Throughput {
  const autoscale = offer.content.offerAutopilotSettings?.maxThroughput;
  if (autoscale) return { mode: "autoscale", value: autoscale };
  return { mode: "manual", value: offer.content.offerThroughput ?? 0 };
}

/** The offer of a database or container, with the least throughput that it can have. */
export async function readOffer(ownerRid: string): Promise<OfferState | undefined> {
  // Offers have no address by owner, so the list of all offers is searched.
  const offer = (await listOffers()).find((offer) => offer.offerResourceId === ownerRid);
  if (!offer) return undefined;
  const answer = await send<Offer>({ path: ["offers", offer._rid], type: "offers", link: offer._rid.toLowerCase() });
  return { offer: answer.body, minimum: Number(answer.headers.get("x-ms-cosmos-min-throughput") ?? 400) };
}

/** A change of the mode has a header of its own, and the server then chooses the throughput. */
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
  // The migration may have chosen the wanted throughput already.
  if (throughput.mode === "none" || (after.mode !== "none" && after.value === throughput.value)) return;
  const content = { ...current.content };
  if (throughput.mode === "autoscale") content.offerAutopilotSettings = { maxThroughput: throughput.value };
  else content.offerThroughput = throughput.value;
  await put({ ...current, content }, {});
}
