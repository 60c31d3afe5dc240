// Starts the server under test as a child process and stops it again.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const READY_MS_MAX = 60_000;

export async function startServer({ data, tls = "off", throughput = "off", more = [] } = {}) {
  const binary = process.env.ORRERY_BIN;
  if (!binary) {
    throw new Error("ORRERY_BIN must name the server binary; `cargo xtask test js` sets it");
  }
  const where = data ? ["--data", data] : ["--memory"];
  const options = ["serve", "--listen", "127.0.0.1:0", "--tls", tls, "--ready-json", ...where];
  options.push("--throughput", throughput, ...more);
  const child = spawn(binary, options, { stdio: ["ignore", "pipe", "inherit"] });
  const ready = await firstLine(child);
  return {
    ...ready,
    stop: () => end(child, "SIGTERM"),
    kill: () => end(child, "SIGKILL"),
  };
}

async function firstLine(child) {
  const lines = createInterface({ input: child.stdout });
  const timer = setTimeout(() => child.kill("SIGKILL"), READY_MS_MAX);
  try {
    for await (const line of lines) {
      return JSON.parse(line);
    }
    throw new Error("the server ended before it was ready");
  } finally {
    clearTimeout(timer);
  }
}

async function end(child, signal) {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, "exit");
    child.kill(signal);
    await gone;
  }
}
