// The one place that talks to the server.

import { ProtocolError } from "./errors";
import { parseJson } from "./json";
import type { Signer } from "./sign";

const VERSION = "2020-07-15";
/** A throttled request is repeated when the server says so, for as long as official clients do. */
const THROTTLED_MS_MAX = 30_000;
const FOLDER = "/_explorer/";

export interface Ask {
  method?: "GET" | "POST" | "PUT" | "DELETE" | "PATCH";
  /** Decoded segments of the path. */
  path: string[];
  /** What is signed: the kind of resource, and the link without the last keyword of a feed. */
  type: string;
  link: string;
  headers?: Record<string, string | undefined>;
  body?: unknown;
  query?: string;
  signal?: AbortSignal | undefined;
}

export interface Answer<T> {
  body: T;
  headers: Headers;
  status: number;
  charge: number;
  milliseconds: number;
}

/** Requests of this tab, so that it can leave them out when it shows the requests of others. */
export const ownActivityIds = new Set<string>();

/** More than the server's log holds. */
const OWN_IDS_MAX = 2_000;

function remember(activityId: string): void {
  ownActivityIds.add(activityId);
  const [oldest] = ownActivityIds;
  if (ownActivityIds.size > OWN_IDS_MAX && oldest !== undefined) ownActivityIds.delete(oldest);
}

let signer: Signer | undefined;

export function signWith(next: Signer | undefined): void {
  signer = next;
}

/** Where the server is, seen from this page: a proxy may put a path in front. */
export function serverRoot(): string {
  const path = location.pathname;
  const at = path.lastIndexOf(FOLDER);
  return at >= 0 ? path.slice(0, at + 1) : "/";
}

export async function send<T>(ask: Ask): Promise<Answer<T>> {
  const begun = performance.now();
  for (;;) {
    try {
      return await sendOnce<T>(ask);
    } catch (error) {
      const throttled = error instanceof ProtocolError && error.status === 429;
      if (!throttled || performance.now() - begun > THROTTLED_MS_MAX) throw error;
      await pause(error.retryAfterMs || 100, ask.signal);
    }
  }
}

async function sendOnce<T>(ask: Ask): Promise<Answer<T>> {
  if (!signer) throw new Error("there is no key yet");
  const method = ask.method ?? "GET";
  const date = new Date().toUTCString();
  const activityId = randomId();
  remember(activityId);
  const headers = new Headers({
    authorization: await signer(method, ask.type, ask.link, date),
    accept: "application/json",
    "x-ms-date": date,
    "x-ms-version": VERSION,
    "x-ms-activity-id": activityId,
    "x-ms-cosmos-priority-level": "Low",
  });
  for (const [name, value] of Object.entries(ask.headers ?? {})) {
    if (value !== undefined) headers.set(name, value);
  }
  if (ask.body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
  const begun = performance.now();
  const response = await fetch(serverRoot() + ask.path.map(encodeURIComponent).join("/") + (ask.query ?? ""), {
    method,
    headers,
    body: ask.body === undefined ? null : typeof ask.body === "string" ? ask.body : JSON.stringify(ask.body),
    signal: ask.signal ?? null,
    cache: "no-store",
    credentials: "omit",
  });
  const text = await response.text();
  const milliseconds = performance.now() - begun;
  if (!response.ok && response.status !== 304) throw refusal(response, text);
  return {
    body: (text === "" ? undefined : parseJson(text)) as T,
    headers: response.headers,
    status: response.status,
    charge: Number(response.headers.get("x-ms-request-charge") ?? 0),
    milliseconds,
  };
}

function refusal(response: Response, text: string): ProtocolError {
  let code = response.statusText;
  let message = text;
  try {
    const body = JSON.parse(text) as { code?: string; message?: string };
    code = body.code ?? code;
    message = body.message ?? message;
  } catch {
    // A proxy in between may answer with a page of its own.
  }
  const number = (name: string) => Number(response.headers.get(name) ?? 0);
  const activityId = response.headers.get("x-ms-activity-id") ?? "";
  return new ProtocolError(
    response.status,
    number("x-ms-substatus"),
    code,
    message,
    activityId,
    number("x-ms-retry-after-ms"),
  );
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("cancelled", "AbortError"));
    });
  });
}

export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
