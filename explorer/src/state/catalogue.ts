// The databases and containers of the account, as far as they have been looked at.

import { computed, signal } from "@preact/signals";
import {
  type ContainerDefinition,
  type ContainerName,
  type Offer,
  type Resource,
  listContainers,
  listDatabases,
  listOffers,
} from "../protocol/catalogue";
import { type Script, type ScriptKind, listScripts } from "../protocol/scripts";

export type Scripts = Record<ScriptKind, Script[]>;

export const databases = signal<Resource[] | undefined>(undefined);
export const containers = signal<ReadonlyMap<string, ContainerDefinition[]>>(new Map());
/** By the name of their container, for those that were looked at. */
const scripts = signal<ReadonlyMap<string, Scripts>>(new Map());
export const offers = signal<Offer[]>([]);

export async function loadDatabases(): Promise<void> {
  const [found, throughput] = await Promise.all([listDatabases(), listOffers()]);
  offers.value = throughput;
  databases.value = found;
  await Promise.all(found.map((database) => loadContainers(database.id)));
}

export async function loadContainers(database: string): Promise<void> {
  const found = await listContainers(database);
  containers.value = new Map(containers.value).set(database, found);
}

export async function loadScripts(name: ContainerName): Promise<void> {
  const [sprocs, triggers, udfs] = await Promise.all([
    listScripts(name, "sprocs"),
    listScripts(name, "triggers"),
    listScripts(name, "udfs"),
  ]);
  scripts.value = new Map(scripts.value).set(JSON.stringify(name), { sprocs, triggers, udfs });
}

export function scriptsOf(name: ContainerName): Scripts | undefined {
  return scripts.value.get(JSON.stringify(name));
}

export function definitionOf(name: ContainerName): ContainerDefinition | undefined {
  return containers.value.get(name.database)?.find((container) => container.id === name.container);
}

export const containerNames = computed<ContainerName[]>(() =>
  (databases.value ?? []).flatMap(({ id }) =>
    (containers.value.get(id) ?? []).map((container) => ({ database: id, container: container.id })),
  ),
);
