// Single items: read, write, delete.

import { type ContainerName, containerLink, containerPath } from "./catalogue";
import { type Item, type PartitionKeyDefinition, keyHeader, keyOf } from "./partition_key";
import { type Answer, send } from "./request";

const KEY = "x-ms-documentdb-partitionkey";

export interface Place {
  name: ContainerName;
  definition: PartitionKeyDefinition;
}

export function readItem(place: Place, id: string, key: unknown[]): Promise<Answer<Item>> {
  return send({ ...one(place, id), headers: { [KEY]: keyHeader(key) } });
}

export function createItem(place: Place, text: string, item: Item): Promise<Answer<Item>> {
  return send({ ...feed(place), method: "POST", headers: { [KEY]: header(place, item) }, body: text });
}

export function upsertItem(place: Place, item: Item, signal?: AbortSignal): Promise<Answer<Item>> {
  return send({
    ...feed(place),
    method: "POST",
    headers: { [KEY]: header(place, item), "x-ms-documentdb-is-upsert": "True", prefer: "return=minimal" },
    body: item,
    signal,
  });
}

/** Without an etag it replaces whatever is there. */
export function replaceItem(
  place: Place,
  id: string,
  key: unknown[],
  text: string,
  etag: string | undefined,
): Promise<Answer<Item>> {
  return send({
    ...one(place, id),
    method: "PUT",
    headers: { [KEY]: keyHeader(key), "if-match": etag },
    body: text,
  });
}

export function deleteItem(place: Place, id: string, key: unknown[], etag?: string): Promise<Answer<undefined>> {
  return send({ ...one(place, id), method: "DELETE", headers: { [KEY]: keyHeader(key), "if-match": etag } });
}

function header(place: Place, item: Item): string {
  return keyHeader(keyOf(item, place.definition));
}

function feed({ name }: Place) {
  return { path: [...containerPath(name), "docs"], type: "docs", link: containerLink(name) };
}

function one({ name }: Place, id: string) {
  return { path: [...containerPath(name), "docs", id], type: "docs", link: `${containerLink(name)}/docs/${id}` };
}
