// The build must give the same bytes wherever it runs, because its result is committed: versions are
// pinned by the lock file, names come from contents, and nothing of the machine or the day goes in.

import { defineConfig } from "vite";
import { compress } from "./build/compress.ts";
import { licences } from "./build/licences.ts";

/** For work on the explorer itself: a server beside `npm run dev`. */
const BESIDE = process.env["ORRERY_ENDPOINT"] ?? "http://127.0.0.1:8081";

export default defineConfig(({ command }) => ({
  base: command === "serve" ? "/_explorer/" : "./",
  publicDir: "public",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      input: ["index.html", "regions.html"],
      output: {
        codeSplitting: {
          groups: [{ name: "editor", test: /node_modules[\\/](@codemirror|@lezer|style-mod|w3c-keyname|crelt|@marijn)/ }],
        },
      },
    },
  },
  server: {
    proxy: { "^(?!/_explorer/)": BESIDE, "^/_explorer/config\\.json$": BESIDE },
  },
  plugins: [licences(), compress()],
}));
