// The licences of what is bundled, as they ask to be passed on.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

export function licences(): Plugin {
  let root = "";
  return {
    name: "licences",
    apply: "build",
    configResolved(config) {
      root = config.root;
    },
    generateBundle(_, bundle) {
      const packages = new Set<string>();
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        for (const module of chunk.moduleIds) {
          const found = /node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(module)?.[1];
          if (found) packages.add(found.replaceAll("\\", "/"));
        }
      }
      const texts = [...packages].sort().map((name) => {
        const directory = join(root, "node_modules", name);
        const { version, license } = JSON.parse(readFileSync(join(directory, "package.json"), "utf8"));
        const file = readdirSync(directory).find((file) => /^licen[cs]e/i.test(file));
        const text = file ? readFileSync(join(directory, file), "utf8").replaceAll("\r\n", "\n").trim() : "";
        return `${name} ${version} (${license})\n\n${text}\n`;
      });
      this.emitFile({ type: "asset", fileName: "licences.txt", source: texts.join(`\n${"-".repeat(70)}\n\n`) });
    },
  };
}
