// The history of queries, newest first. The texts stay in this browser.

import type { ContainerName } from "../../protocol/catalogue";

export interface Past {
  text: string;
  /** Milliseconds since the epoch. */
  at: number;
  rows: number;
  charge: number;
}

const KEPT = 50;

const storageKey = (name: ContainerName) => `orrery-queries:${name.database}/${name.container}`;

export function history(name: ContainerName): Past[] {
  try {
    return JSON.parse(localStorage.getItem(storageKey(name)) ?? "[]") as Past[];
  } catch {
    return [];
  }
}

export function remember(name: ContainerName, past: Past): void {
  const others = history(name).filter(({ text }) => text !== past.text);
  localStorage.setItem(storageKey(name), JSON.stringify([past, ...others].slice(0, KEPT)));
}

export function forget(name: ContainerName): void {
  localStorage.removeItem(storageKey(name));
}
