// Whether the server takes writes. It is asked now and then: nobody may be writing who would be told.

import { signal } from "@preact/signals";
import { serverRoot } from "../protocol/request";

const INTERVAL_MS = 10_000;

interface Readiness {
  status: string;
  cause?: string;
  damage?: string;
}

/** What is wrong with the store, as a sentence; none while all is well. */
export const storeProblem = signal<string | undefined>(undefined);

/** Asks from now on, until what it gives is called. */
export function watchStore(): () => void {
  void ask();
  const timer = setInterval(() => {
    if (!document.hidden) void ask();
  }, INTERVAL_MS);
  return () => clearInterval(timer);
}

async function ask(): Promise<void> {
  try {
    const response = await fetch(`${serverRoot()}ready`);
    storeProblem.value = sentence((await response.json()) as Readiness);
  } catch {
    // A server that cannot be reached is told by whatever else is asked of it.
  }
}

function sentence({ cause, damage }: Readiness): string | undefined {
  if (cause) return `The server refuses writes: ${cause}. Reads go on.`;
  return damage;
}
