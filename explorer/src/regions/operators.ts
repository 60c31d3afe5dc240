// What the listener of operators answers, and what it is told.

import { signal } from "@preact/signals";

export interface Lag {
  records: number;
  millis: number;
}

export interface Region {
  name: string;
  endpoint: string | null;
  state: "write" | "read" | "joining" | "leaving" | "down" | "removed" | "broken";
  cause?: string;
  kept: number | null;
  applied: number | null;
  committed: number | null;
  lag: Lag | null;
  falseProgress: number | null;
}

export interface Link {
  from: string;
  to: string;
  delayMillis: number;
  paused: boolean;
  cut: boolean;
  behind: { records: number; bytes: number; millis: number } | null;
}

export interface Report {
  writeRegion: string | null;
  multiWrite: boolean;
  perPartitionFailover: boolean;
  epoch: string;
  regions: Region[];
  links: Link[];
  partitions: { partition: string; owner: string | null; automatic: boolean; down: string[] }[];
}

export type LinkOrder =
  | { order: "pause" | "resume" | "cut" }
  | { order: "delay"; millis: number }
  | { order: "step"; records: number };

export interface Failover {
  to: string;
  forced?: boolean;
  offline?: string[];
  acceptsLoss?: boolean;
}

/** Stands for every region in the name of a link. */
export const EVERY = "*";

const STORED = "orrery-management-key";
/** The page lies one folder below what it asks. */
const ROOT = new URL("../", location.href);

/** Kept for the tab and nowhere else. */
export const key = signal(sessionStorage.getItem(STORED) ?? "");

export class WrongKey extends Error {}

/** Throws if the server does not know the key. */
export async function open(given: string): Promise<Report> {
  const report = await ask(given, "GET", "account");
  sessionStorage.setItem(STORED, given);
  key.value = given;
  return report;
}

export function close(): void {
  sessionStorage.removeItem(STORED);
  key.value = "";
}

export function look(signal: AbortSignal): Promise<Report> {
  return ask(key.value, "GET", "account", undefined, signal);
}

export function orderLink(from: string, to: string, order: LinkOrder): Promise<Report> {
  return ask(key.value, "POST", `links/${encodeURIComponent(from)}/${encodeURIComponent(to)}`, order);
}

export function takeDown(region: string): Promise<Report> {
  return ask(key.value, "POST", `regions/${encodeURIComponent(region)}/down`);
}

export function bringUp(region: string): Promise<Report> {
  return ask(key.value, "POST", `regions/${encodeURIComponent(region)}/up`);
}

export function failover(order: Failover): Promise<Report> {
  return ask(key.value, "POST", "account/failover", order);
}

async function ask(key: string, method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Report> {
  const response = await fetch(new URL(path, ROOT), {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
  const answer = (await response.json()) as Report & { message?: string };
  if (response.status === 401) throw new WrongKey("The server has another key. It says at its start where it is.");
  if (!response.ok) throw new Error(answer.message ?? `The server answers ${response.status}.`);
  return answer;
}
