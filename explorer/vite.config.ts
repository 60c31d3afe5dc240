// The build must give the same bytes wherever it runs, because its result is committed: versions are
// pinned by the lock file, names come from contents, and nothing of the machine or the day goes in.

import { defineConfig } from "vite";
import { compress } from "./build/compress.ts";
import { licences } from "./build/licences.ts";

export default defineConfig({
  base: "./",
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
      output: {
        codeSplitting: {
          groups: [{ name: "editor", test: /node_modules[\\/](@codemirror|@lezer|style-mod|w3c-keyname|crelt|@marijn)/ }],
        },
      },
    },
  },
  server: {
    // For work on the explorer itself: `npm run dev` beside `orrery serve --tls off`.
    proxy: Object.fromEntries(
      ["/dbs", "/offers", "/_orrery", "/config.json"].map((path) => [path, "http://127.0.0.1:8081"]),
    ),
  },
  plugins: [licences(), compress()],
});
