// The databases and containers of the account that this tab has loaded.

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

/** Undefined until the first load, so that screens can tell "none" from "unknown". */
export const databases = signal<Resource[] | undefined>(undefined);
export const containers = signal<ReadonlyMap<string, ContainerDefinition[]>>(new Map());
/** The loaded scripts, by the name of their container. */
const scripts = signal<ReadonlyMap<string, Scripts>>(new Map());
export const offers = signal<Offer[]>([]);

/** Loads all databases, their containers and all offers. */
export async function loadDatabases(): Promise<void> {
  const [found, throughput] = await Promise.all([listDatabases(), listOffers()]);
  // Offers first: the screens of databases read them as soon as the databases change.
  offers.value = throughput;
  databases.value = found;
  await Promise.all(found.map((database) => loadContainers(database.id)));
}

/** Loads the containers of one database again. */
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

/** The loaded scripts of a container. */
export function scriptsOf(name: ContainerName): Scripts | undefined {
  return scripts.value.get(JSON.stringify(name));
}

/** The loaded definition of a container. */
export function definitionOf(name: ContainerName): ContainerDefinition | undefined {
  return containers.value.get(name.database)?.find((container) => container.id === name.container);
}

/** The names of all loaded containers. */
export const containerNames = computed<ContainerName[]>(() =>
  (databases.value ?? []).flatMap(({ id }) =>
    (containers.value.get(id) ?? []).map((container) => ({ database: id, container: container.id })),
  ),
);
