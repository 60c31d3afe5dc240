// The committed bundle is what the sources give, and it is small.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync, gunzipSync } from "node:zlib";

const EXPLORER = fileURLToPath(new URL("../../explorer/", import.meta.url));
const COMMITTED = join(EXPLORER, "dist");
const BYTES_MAX = 2 * 1024 * 1024;
const PACKED = /\.(br|gz)$/;

function files(directory) {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(directory, name)).isFile())
    .sort();
}

test("the sources give the committed files, byte for byte", () => {
  const built = mkdtempSync(join(tmpdir(), "orrery-explorer-"));
  try {
    execFileSync("npm", ["run", "--silent", "build", "--", "--outDir", built, "--emptyOutDir", "--logLevel", "warn"], {
      cwd: EXPLORER,
      stdio: "inherit",
    });
    const hint = "run `npm run build` in explorer/ and commit explorer/dist";
    assert.deepEqual(files(COMMITTED), files(built), hint);
    for (const name of files(built).filter((name) => !PACKED.test(name))) {
      assert.ok(readFileSync(join(built, name)).equals(readFileSync(join(COMMITTED, name))), `${name} differs: ${hint}`);
    }
  } finally {
    rmSync(built, { recursive: true });
  }
});

test("compressed files unpack to the plain ones", () => {
  // Compressors differ between versions of Node; what they mean does not.
  for (const name of files(COMMITTED).filter((name) => PACKED.test(name))) {
    const packed = readFileSync(join(COMMITTED, name));
    const unpacked = name.endsWith(".br") ? brotliDecompressSync(packed) : gunzipSync(packed);
    const plain = join(COMMITTED, name.replace(PACKED, ""));
    assert.ok(existsSync(plain) && unpacked.equals(readFileSync(plain)), name);
  }
});

test("everything together is below two megabytes", () => {
  const bytes = files(COMMITTED).filter((name) => name.endsWith(".br")).reduce((sum, name) => sum + statSync(join(COMMITTED, name)).size, 0);
  console.log(`the bundle has ${bytes} bytes, compressed`);
  assert.ok(bytes > 0 && bytes < BYTES_MAX);
});
