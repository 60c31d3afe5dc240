// The key of this tab. It is kept for the tab and nowhere else.

import { signal } from "@preact/signals";
import { type Account, readAccount } from "../protocol/catalogue";
import { serverRoot, signWith } from "../protocol/request";
import { signerFor } from "../protocol/sign";

const STORED = "orrery-key";

export interface Session {
  key: string;
  account: Account;
}

export interface ServerConfig {
  version: string;
  /** The well-known key, where it is no secret. */
  key: string | null;
}

export const session = signal<Session | undefined>(undefined);
export const config = signal<ServerConfig | undefined>(undefined);

/** Opens the session with the key of this tab, or with the one the server offers. */
export async function resume(): Promise<void> {
  const response = await fetch(`${serverRoot()}_explorer/config.json`);
  config.value = (await response.json()) as ServerConfig;
  const key = sessionStorage.getItem(STORED);
  if (key) await open(key).catch(() => sessionStorage.removeItem(STORED));
}

/** Throws if the server does not know the key. */
export async function open(key: string): Promise<void> {
  signWith(signerFor(key));
  const account = await readAccount();
  sessionStorage.setItem(STORED, key.trim());
  session.value = { key: key.trim(), account };
}

export function close(): void {
  sessionStorage.removeItem(STORED);
  signWith(undefined);
  session.value = undefined;
}
