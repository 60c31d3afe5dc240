// Whether the server takes writes. The page polls this, since a problem may appear while nobody writes.

import { signal } from "@preact/signals";
import { serverRoot } from "../protocol/request";

const INTERVAL_MS = 10_000;

/** The body of `/ready`. */
interface Readiness {
  status: string;
  cause?: string;
  damage?: string;
}

/** The problem of the store, as a sentence. Undefined without a problem. */
export const storeProblem = signal<string | undefined>(undefined);

/** Starts polling, and returns a function that stops it. */
export function watchStore(): () => void {
  void poll();
  const timer = setInterval(() => {
    // A hidden tab polls nothing; it shows the state again at the next poll after it becomes visible.
    if (!document.hidden) void poll();
  }, INTERVAL_MS);
  return () => clearInterval(timer);
}

async function poll(): Promise<void> {
  try {
    const response = await fetch(`${serverRoot()}ready`);
    storeProblem.value = sentence((await response.json()) as Readiness);
  } catch {
    // Other requests report a server that cannot be reached.
  }
}

function sentence({ cause, damage }: Readiness): string | undefined {
  if (cause) return `The server refuses writes: ${cause}. Reads go on.`;
  return damage;
}
