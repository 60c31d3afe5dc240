// Writes a brotli and a gzip form beside every file, so that the server only has to choose.

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Plugin } from "vite";

/** Smaller files fit in a packet as they are. */
const BYTES_MIN = 1024;

export function compress(): Plugin {
  let directory = "";
  return {
    name: "compress",
    apply: "build",
    configResolved(config) {
      directory = resolve(config.root, config.build.outDir);
    },
    closeBundle() {
      for (const name of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
        const path = join(directory, name);
        if (!statSync(path).isFile() || /\.(br|gz)$/.test(name)) continue;
        const bytes = readFileSync(path);
        if (bytes.length < BYTES_MIN) continue;
        writeFileSync(`${path}.br`, brotliCompressSync(bytes, {
          params: {
            [constants.BROTLI_PARAM_QUALITY]: 11,
            [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
          },
        }));
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
      }
    },
  };
}
