// The signature of a request, made in the browser: the key never leaves the tab.

import { hmacSha256 } from "./sha256";

/** Makes the value of the `authorization` header for one request. */
export type Signer = (method: string, type: string, link: string, date: string) => Promise<string>;

/** Throws if the key is not base64. */
export function signerFor(key: string): Signer {
  const bytes = fromBase64(key.trim());
  if (bytes.length === 0) throw new Error("the key is empty");
  const hmac = hmacOf(bytes);
  return async (method, type, link, date) => {
    const payload = `${method.toLowerCase()}\n${type}\n${link}\n${date.toLowerCase()}\n\n`;
    const signature = toBase64(await hmac(new TextEncoder().encode(payload)));
    return encodeURIComponent(`type=master&ver=1.0&sig=${signature}`);
  };
}

/** Browsers offer their cryptography only over HTTPS and on loopback. */
function hmacOf(key: Uint8Array<ArrayBuffer>): (message: Uint8Array<ArrayBuffer>) => Promise<Uint8Array> {
  const subtle = globalThis.crypto?.subtle;
  if (!subtle) return async (message) => hmacSha256(key, message);
  const imported = subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return async (message) => new Uint8Array(await subtle.sign("HMAC", await imported, message));
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
