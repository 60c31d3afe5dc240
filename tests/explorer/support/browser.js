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

/** Of every wait for something that is normally there at once. */
const WAIT_MS_MAX = 60_000;

export function chromiumPath() {
  const found = process.env.CHROMIUM ?? CANDIDATES.find(existsSync);
  assert.ok(found, "Chromium is missing: install the package chromium, or name it in CHROMIUM");
  return found;
}

export async function launch() {
  mkdirSync(PICTURES, { recursive: true });
  return chromium.launch({
    executablePath: chromiumPath(),
    timeout: WAIT_MS_MAX,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** A page that notes everything which should not happen: errors, and requests that leave for elsewhere. */
export async function newPage(browser, server, { theme = "dark", size = DESKTOP } = {}) {
  const context = await browser.newContext({ viewport: size, colorScheme: theme, reducedMotion: "reduce" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await context.addInitScript(noteNotices);
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS_MAX);
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

/** Runs in the page: a notice goes after some seconds, and nobody may have looked until then. */
function noteNotices() {
  globalThis.noticed = [];
  const note = (changes) => {
    for (const { target, addedNodes } of changes) {
      if (target.className === "notices") globalThis.noticed.push(...[...addedNodes].map((node) => node.textContent));
    }
  };
  new MutationObserver(note).observe(document, { childList: true, subtree: true });
}

/** Until the page has shown a notice with this text, even if that is gone again. */
export async function notice(page, text) {
  await page.waitForFunction((text) => globalThis.noticed.some((shown) => shown.includes(text)), text);
}

/** What a button copies. */
export async function copied(page, button) {
  const read = () => page.evaluate(() => navigator.clipboard.readText());
  await page.evaluate(() => navigator.clipboard.writeText("nothing copied yet"));
  await page.getByRole("button", { name: button }).click();
  return eventually(read, (text) => text !== "nothing copied yet");
}

/** Asks until the answer is right, and gives it. */
export async function eventually(ask, isRight) {
  for (const deadline = Date.now() + WAIT_MS_MAX; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const answer = await ask();
    if (isRight(answer)) return answer;
    assert.ok(Date.now() < deadline, `it stays at ${JSON.stringify(answer)}`);
  }
}

/** Until there are so many of something. */
export async function count(locator, expected) {
  await eventually(() => locator.count(), (found) => found === expected);
}

/** Until the page has drawn what it knows now, and done what it does after that. */
export async function settled(page) {
  await page.evaluate(() => new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)));
  }));
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
