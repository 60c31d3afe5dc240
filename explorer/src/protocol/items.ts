// Reads, writes and deletes single items.

import { type ContainerName, containerLink, containerPath } from "./catalogue";
import { type Item, type PartitionKeyDefinition, keyHeader, keyOf } from "./partition_key";
import { type Answer, send } from "./request";

const KEY = "x-ms-documentdb-partitionkey";

/** A container and its partition key definition, which the key of an item follows from. */
export interface ContainerKey {
  name: ContainerName;
  definition: PartitionKeyDefinition;
}

/** Reads one item by id and partition key. */
export function readItem(container: ContainerKey, id: string, key: unknown[]): Promise<Answer<Item>> {
  return send({ ...one(container, id), headers: { [KEY]: keyHeader(key) } });
}

/** Creates an item. The text is sent as it is, so that large integers stay exact. */
export function createItem(container: ContainerKey, text: string, item: Item): Promise<Answer<Item>> {
  return send({ ...feed(container), method: "POST", headers: { [KEY]: header(container, item) }, body: text });
}

/** Creates or replaces an item, without the item in the answer. */
export function upsertItem(container: ContainerKey, item: Item, signal?: AbortSignal): Promise<Answer<Item>> {
  return send({
    ...feed(container),
    method: "POST",
    headers: { [KEY]: header(container, item), "x-ms-documentdb-is-upsert": "True", prefer: "return=minimal" },
    body: item,
    signal,
  });
}

/** Replaces an item. Without an etag the request replaces every version. */
export function replaceItem(
  container: ContainerKey,
  id: string,
  key: unknown[],
  text: string,
  etag: string | undefined,
): Promise<Answer<Item>> {
  return send({
    ...one(container, id),
    method: "PUT",
    headers: { [KEY]: keyHeader(key), "if-match": etag },
    body: text,
  });
}

/** Deletes an item. With an etag only that version is deleted. */
export function deleteItem(container: ContainerKey, id: string, key: unknown[], etag?: string): Promise<Answer<undefined>> {
  return send({ ...one(container, id), method: "DELETE", headers: { [KEY]: keyHeader(key), "if-match": etag } });
}

function header(container: ContainerKey, item: Item): string {
  return keyHeader(keyOf(item, container.definition));
}

function feed({ name }: ContainerKey) {
  return { path: [...containerPath(name), "docs"], type: "docs", link: containerLink(name) };
}

function one({ name }: ContainerKey, id: string) {
  return { path: [...containerPath(name), "docs", id], type: "docs", link: `${containerLink(name)}/docs/${id}` };
}
