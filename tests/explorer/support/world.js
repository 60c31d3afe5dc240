// What every test file has: a server with data, a browser, and a look at what should not have happened.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { launch, newPage, signIn } from "./browser.js";
import { fill } from "./data.js";
import { startServer } from "./server.js";

/** Starts both before the tests of a file and ends them after. */
export function world({ filled = true, flags = [] } = {}) {
  const world = {
    /** Opens a screen in a tab of its own, does something there, and closes it. */
    async on(hash, options, work) {
      const page = await newPage(world.browser, world.server, options);
      try {
        await signIn(page, world.server);
        if (hash) await page.goto(`${world.server.explorer}#${hash}`);
        await work(page);
        assert.deepEqual(page.surprises, []);
      } finally {
        await page.context().close();
      }
    },
  };
  before(async () => {
    world.server = await startServer(...flags);
    world.browser = await launch();
    if (filled) await fill(world.server);
  });
  after(async () => {
    await world.browser?.close();
    await world.server?.stop();
  });
  return world;
}

/** Replaces the text of an editor, without the help that it offers while one types. */
export async function write(page, editor, text) {
  await page.getByRole("textbox", { name: editor }).click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}
