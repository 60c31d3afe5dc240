// The client of the operators' listener: its reports and its orders.

import { signal } from "@preact/signals";

/** The distance behind the write region. */
export interface Lag {
  records: number;
  millis: number;
}

/** One region. A figure is null if the answering region does not know it. */
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

/** The replication link from one region to another. */
export interface Link {
  from: string;
  to: string;
  delayMillis: number;
  paused: boolean;
  cut: boolean;
  behind: { records: number; bytes: number; millis: number } | null;
}

/** The account as one region reports it. Every order is answered with this report. */
export interface Report {
  writeRegion: string | null;
  multiWrite: boolean;
  perPartitionFailover: boolean;
  epoch: string;
  regions: Region[];
  links: Link[];
  partitions: { partition: string; owner: string | null; automatic: boolean; down: string[] }[];
}

/** An order that slows, stops or cuts a link. */
export type LinkOrder =
  | { order: "pause" | "resume" | "cut" }
  | { order: "delay"; millis: number }
  | { order: "step"; records: number };

/** An order to change the write region. */
export interface Failover {
  to: string;
  forced?: boolean;
  offline?: string[];
  acceptsLoss?: boolean;
}

/** Stands for every region in the address of a link. */
export const EVERY = "*";

const STORED = "orrery-management-key";
/** The page is one folder below the paths of the listener. */
const ROOT = new URL("../", location.href);

/** The management key, stored only in the session storage of this tab. */
export const key = signal(sessionStorage.getItem(STORED) ?? "");

/** The server rejects the management key, so the page asks for the key again. */
export class WrongKey extends Error {}

/** Throws if the server rejects the key. */
export async function open(given: string): Promise<Report> {
  const report = await callOperator(given, "GET", "account");
  sessionStorage.setItem(STORED, given);
  key.value = given;
  return report;
}

/** Forgets the key. */
export function close(): void {
  sessionStorage.removeItem(STORED);
  key.value = "";
}

/** Reads the report. */
export function readReport(signal: AbortSignal): Promise<Report> {
  return callOperator(key.value, "GET", "account", undefined, signal);
}

export function orderLink(from: string, to: string, order: LinkOrder): Promise<Report> {
  return callOperator(key.value, "POST", `links/${encodeURIComponent(from)}/${encodeURIComponent(to)}`, order);
}

/** Takes a region down. */
export function takeDown(region: string): Promise<Report> {
  return callOperator(key.value, "POST", `regions/${encodeURIComponent(region)}/down`);
}

/** Brings a region up again. */
export function bringUp(region: string): Promise<Report> {
  return callOperator(key.value, "POST", `regions/${encodeURIComponent(region)}/up`);
}

/** Changes the write region. */
export function failover(order: Failover): Promise<Report> {
  return callOperator(key.value, "POST", "account/failover", order);
}

/** Sends a request with the management key. */
async function callOperator(key: string, method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Report> {
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
