// The only module that sends requests to the server.

import { ProtocolError } from "./errors";
import { parseJson } from "./json";
import type { Signer } from "./sign";

/** The version of the protocol whose behaviour the explorer expects. */
const VERSION = "2020-07-15";
/** How long a throttled request is repeated. Official SDKs wait for the same time. */
const THROTTLED_MS_MAX = 30_000;
/** The folder of the explorer below the root of the server. */
const FOLDER = "/_explorer/";

/** A request before it is signed. */
export interface RequestSpec {
  method?: "GET" | "POST" | "PUT" | "DELETE" | "PATCH";
  /** The path segments, not encoded. */
  path: string[];
  /** The signed resource type. The signed link leaves out the last keyword of a feed. */
  type: string;
  link: string;
  headers?: Record<string, string | undefined>;
  body?: unknown;
  query?: string;
  signal?: AbortSignal | undefined;
  /** Whether the request is sent only once, so that a refusal for the rate is reported and not repeated. */
  once?: boolean;
}

/** The answer to a request, with its charge and its duration. */
export interface Answer<T> {
  body: T;
  headers: Headers;
  status: number;
  charge: number;
  milliseconds: number;
}

/** The activity ids of this tab, so that the screen of requests can leave out its own requests. */
export const ownActivityIds = new Set<string>();

/** The limit of this list. It exceeds the length of the server's log. */
const OWN_IDS_MAX = 2_000;

function remember(activityId: string): void {
  ownActivityIds.add(activityId);
  const [oldest] = ownActivityIds;
  if (ownActivityIds.size > OWN_IDS_MAX && oldest !== undefined) ownActivityIds.delete(oldest);
}

let signer: Signer | undefined;

/** Sets the signer of all later requests. Without a signer no request is sent. */
export function signWith(next: Signer | undefined): void {
  signer = next;
}

/** The root of the server, as this page sees it: a proxy may add a path. */
export function serverRoot(): string {
  const path = location.pathname;
  const at = path.lastIndexOf(FOLDER);
  return at >= 0 ? path.slice(0, at + 1) : "/";
}

/** Sends a request, and repeats it while the server throttles it. */
export async function send<T>(request: RequestSpec): Promise<Answer<T>> {
  const begun = performance.now();
  for (;;) {
    try {
      return await sendOnce<T>(request);
    } catch (error) {
      const throttled = error instanceof ProtocolError && error.status === 429;
      // The time limit includes all attempts, so that a screen never waits forever.
      if (!throttled || request.once || performance.now() - begun > THROTTLED_MS_MAX) throw error;
      await pause(error.retryAfterMs || 100, request.signal);
    }
  }
}

/** Signs and sends a request once. Throws a `ProtocolError` if the server refuses it. */
async function sendOnce<T>(request: RequestSpec): Promise<Answer<T>> {
  if (!signer) throw new Error("there is no key yet");
  const method = request.method ?? "GET";
  const date = new Date().toUTCString();
  const activityId = randomId();
  // Recorded before the request, because the log may show the request before its answer arrives.
  remember(activityId);
  const headers = new Headers({
    authorization: await signer(method, request.type, request.link, date),
    accept: "application/json",
    "x-ms-date": date,
    "x-ms-version": VERSION,
    "x-ms-activity-id": activityId,
    // The explorer must not slow down the applications that use the account.
    "x-ms-cosmos-priority-level": "Low",
    // A browser repeats a request with status 408 by itself, even if the request writes. With this header
    // the server answers such a request with another status, which browsers do not repeat, and reports 408
    // in a header.
    "x-orrery-browser": "True",
  });
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    if (value !== undefined) headers.set(name, value);
  }
  if (request.body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
  const begun = performance.now();
  const response = await fetch(serverRoot() + request.path.map(encodeURIComponent).join("/") + (request.query ?? ""), {
    method,
    headers,
    body: request.body === undefined ? null : typeof request.body === "string" ? request.body : JSON.stringify(request.body),
    signal: request.signal ?? null,
    // A cached answer would show old items after a write.
    cache: "no-store",
    // The signature is the only credential. Cookies of the host would add nothing.
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

/** Builds the error of a refused request from its headers and its body. */
function refusal(response: Response, text: string): ProtocolError {
  let code = response.statusText;
  let message = text;
  try {
    const body = JSON.parse(text) as { code?: string; message?: string };
    code = body.code ?? code;
    message = body.message ?? message;
  } catch {
    // A proxy may answer with a page that contains no JSON.
  }
  const number = (name: string) => Number(response.headers.get(name) ?? 0);
  const activityId = response.headers.get("x-ms-activity-id") ?? "";
  return new ProtocolError(
    number("x-orrery-status") || response.status,
    number("x-ms-substatus"),
    code,
    message,
    activityId,
    number("x-ms-retry-after-ms"),
  );
}

/** Waits for some time. Throws if the request is cancelled meanwhile. */
function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("cancelled", "AbortError"));
    });
  });
}

/** A random UUID of version 4. `crypto.randomUUID` does not exist on pages over plain HTTP. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
