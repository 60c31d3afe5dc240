// The account key of this tab, stored only in the session storage of the tab.

import { signal } from "@preact/signals";
import { type Account, readAccount } from "../protocol/catalogue";
import { serverRoot, signWith } from "../protocol/request";
import { signerFor } from "../protocol/sign";

const STORED = "orrery-key";

/** An accepted key, and the account that it opened. */
export interface Session {
  key: string;
  account: Account;
}

/** What the server says to pages without a key. */
export interface ServerConfig {
  version: string;
  /** The well-known key, if the server offers it. */
  key: string | null;
}

export const session = signal<Session | undefined>(undefined);
export const config = signal<ServerConfig | undefined>(undefined);

/** Opens the session with the key of this tab, or with the key that the server offers. */
export async function resume(): Promise<void> {
  const response = await fetch(`${serverRoot()}_explorer/config.json`);
  config.value = (await response.json()) as ServerConfig;
  const key = sessionStorage.getItem(STORED);
  if (key) await open(key).catch(() => sessionStorage.removeItem(STORED));
}

/** Throws if the server rejects the key. */
export async function open(key: string): Promise<void> {
  signWith(signerFor(key));
  // The key counts as accepted only when a signed request has succeeded.
  const account = await readAccount();
  sessionStorage.setItem(STORED, key.trim());
  session.value = { key: key.trim(), account };
}

/** Ends the session. Other tabs have sessions of their own. */
export function close(): void {
  sessionStorage.removeItem(STORED);
  signWith(undefined);
  session.value = undefined;
}
