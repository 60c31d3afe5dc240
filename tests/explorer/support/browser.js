// Debian's Chromium, driven by Playwright; pictures of what it shows; axe over every screen.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const CANDIDATES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const PICTURES = `${process.env.CARGO_TARGET_DIR ?? `${ROOT}target`}/explorer-screenshots`;
export const DESKTOP = { width: 1360, height: 860 };
export const PHONE = { width: 390, height: 844 };

export function chromiumPath() {
  const found = process.env.CHROMIUM ?? CANDIDATES.find(existsSync);
  assert.ok(found, "Chromium is missing: install the package chromium, or name it in CHROMIUM");
  return found;
}

export async function launch() {
  mkdirSync(PICTURES, { recursive: true });
  return chromium.launch({
    executablePath: chromiumPath(),
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** A page that notes everything which should not happen: errors, and requests that leave for elsewhere. */
export async function newPage(browser, server, { theme = "dark", size = DESKTOP } = {}) {
  const context = await browser.newContext({ viewport: size, colorScheme: theme, reducedMotion: "reduce" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const surprises = [];
  page.on("pageerror", (error) => surprises.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // Refused requests are part of what is tested; a violated policy or a script error is not.
    const refusal = /Failed to load resource/.test(message.text());
    if (message.type() === "error" && !refusal) surprises.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    const isOwn = url.origin === new URL(server.endpoint).origin || ["data:", "blob:"].includes(url.protocol);
    if (!isOwn) surprises.push(`left for ${request.url()}`);
  });
  return Object.assign(page, { surprises });
}

/** Signs in with the key that the server offers. */
export async function signIn(page, server) {
  await page.goto(server.explorer);
  await page.getByRole("button", { name: "Open" }).click();
  await page.getByRole("banner").waitFor();
}

export async function picture(page, name) {
  await page.screenshot({ path: `${PICTURES}/${name}.png` });
}

/** No violation that axe calls serious or critical. */
export async function checkAccess(page, where) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }),
  );
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const told = serious.map(({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.slice(0, 4).map((node) => `${node.target.join(" ")} ${node.failureSummary?.split("\n")[1] ?? ""}`).join("\n  ")}`);
  assert.deepEqual(told, [], `axe finds on ${where}`);
}
