// Short messages about what was done or went wrong.

import { signal } from "@preact/signals";
import { explain, isCancelled } from "../protocol/errors";

export interface Notice {
  id: number;
  kind: "good" | "bad";
  text: string;
}

const SHOWN_MS = { good: 4_000, bad: 12_000 };

export const notices = signal<Notice[]>([]);
let next = 0;

export function notify(kind: Notice["kind"], text: string): void {
  const id = next++;
  notices.value = [...notices.value.slice(-3), { id, kind, text }];
  setTimeout(() => dismiss(id), SHOWN_MS[kind]);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

/** Does something and tells if it could not be done. */
export async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!isCancelled(error)) notify("bad", explain(error));
    return undefined;
  }
}
