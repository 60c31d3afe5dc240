// The request log of the server.

import { send } from "./request";

export interface LoggedRequest {
  number: number;
  /** Seconds since the epoch, with fractions. */
  time: number;
  method: string;
  path: string;
  status: number;
  substatus?: number;
  charge: number;
  durationMs: number;
  activityId: string;
  partition?: string;
  client?: string;
}

export async function readRequests(after: number, signal: AbortSignal) {
  const { body } = await send<{ next: number; requests: LoggedRequest[] }>({
    path: ["_orrery", "requests"],
    query: `?after=${after}`,
    type: "requests",
    link: "",
    signal,
  });
  return body;
}
