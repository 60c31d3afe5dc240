// A real server on a port of its own, with a client that signs as any other does.

import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const BINARY = process.env.ORRERY_BIN ?? `${process.env.CARGO_TARGET_DIR ?? `${ROOT}target`}/release/orrery`;

export async function startServer(...flags) {
  const tls = flags.includes("--tls") ? [] : ["--tls", "off"];
  const process_ = spawn(BINARY, ["serve", "--memory", ...tls, "--listen", "127.0.0.1:0", "--ready-json", ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => process_.once("exit", resolve));
  const line = await Promise.race([
    new Promise((resolve) => createInterface({ input: process_.stdout }).once("line", resolve)),
    ended.then((code) => { throw new Error(`the server ended with ${code} before it was ready`); }),
  ]);
  const { endpoint, key, management, regions } = JSON.parse(line);
  return {
    // `localhost` is a secure context with cryptography of its own; the address is one too.
    endpoint,
    explorer: `${endpoint}_explorer/`,
    key,
    /** Of a server with regions: where operators are heard, and where each region is. */
    management,
    regions,
    ask: (method, path, options) => ask(endpoint, options?.key ?? key, method, path, options),
    async stop() {
      process_.kill();
      await ended;
    },
  };
}

async function ask(endpoint, key, method, path, { body, headers = {}, type, link } = {}) {
  const segments = path.split("/").filter(Boolean);
  const isFeed = segments.length % 2 === 1;
  const date = new Date().toUTCString();
  const signedType = type ?? (isFeed ? segments.at(-1) : segments.at(-2)) ?? "";
  const signedLink = link ?? (isFeed ? segments.slice(0, -1) : segments).map(decodeURIComponent).join("/");
  const payload = `${method.toLowerCase()}\n${signedType}\n${signedLink}\n${date.toLowerCase()}\n\n`;
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(payload).digest("base64");
  const response = await fetch(endpoint + segments.join("/"), {
    method,
    headers: {
      authorization: encodeURIComponent(`type=master&ver=1.0&sig=${signature}`),
      "x-ms-date": date,
      "x-ms-version": "2020-07-15",
      "user-agent": "orrery-explorer-tests",
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status === 429) {
    await new Promise((resolve) => setTimeout(resolve, Number(response.headers.get("x-ms-retry-after-ms") ?? 50)));
    return ask(endpoint, key, method, path, { body, headers, type, link });
  }
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}
