// Short messages about successes and failures.

import { signal } from "@preact/signals";
import { explain, isCancelled } from "../protocol/errors";

/** A message that disappears by itself. */
export interface Notice {
  id: number;
  kind: "good" | "bad";
  text: string;
}

/** Failures stay longer, because they need to be read. */
const SHOWN_MS = { good: 4_000, bad: 12_000 };

export const notices = signal<Notice[]>([]);
let next = 0;

export function notify(kind: Notice["kind"], text: string): void {
  const id = next++;
  // Four messages at most, so that they never cover the screen.
  notices.value = [...notices.value.slice(-3), { id, kind, text }];
  setTimeout(() => dismiss(id), SHOWN_MS[kind]);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

/** Runs a task, and shows a message if it fails. */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!isCancelled(error)) notify("bad", explain(error));
    return undefined;
  }
}
