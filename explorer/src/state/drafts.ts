// Typed texts that are not saved. A draft survives its screen and, in the session storage of the tab, also
// the page: no other screen, no back button and no reload loses it.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

const PREFIX = "orrery-draft:";

/** The drafts by their key, such as `script/…`, `item/…` or `query/…`. */
const drafts = signal<ReadonlyMap<string, string>>(storedDrafts());
/** The keys of drafts that the session storage had no room for. Only this page has these drafts. */
const unstored = new Set<string>();

function storedDrafts(): Map<string, string> {
  const names = Object.keys(sessionStorage).filter((name) => name.startsWith(PREFIX));
  return new Map(names.map((name) => [name.slice(PREFIX.length), sessionStorage.getItem(name) ?? ""]));
}

/** The browser asks the person before it leaves a page with such a draft. */
addEventListener("beforeunload", (event) => {
  if (unstored.size > 0) event.preventDefault();
});

/** The draft of a key, if there is one. */
export function draftOf(key: string): string | undefined {
  return drafts.value.get(key);
}

/** Stores the draft of a key. Without a text it deletes the draft. */
export function keepDraft(key: string, text: string | undefined): void {
  if (drafts.value.get(key) === text) return;
  const next = new Map(drafts.value);
  unstored.delete(key);
  // A full storage must not bring an older draft of this key back, so the older draft goes first.
  sessionStorage.removeItem(PREFIX + key);
  if (text === undefined) {
    next.delete(key);
  } else {
    next.set(key, text);
    try {
      sessionStorage.setItem(PREFIX + key, text);
    } catch {
      unstored.add(key);
    }
  }
  drafts.value = next;
}

/** The number of drafts that a person could still save. The text of a query is never saved. */
export function draftCount(): number {
  return [...drafts.value.keys()].filter((key) => !key.startsWith("query/")).length;
}

/** Deletes all drafts, when the person closes the session. */
export function dropDrafts(): void {
  for (const key of drafts.value.keys()) keepDraft(key, undefined);
}

/** The text of an editor: the draft of its key, or else the saved text. */
export function useDraft(key: string, saved: string): [string, (text: string) => void] {
  const [text, setText] = useState(draftOf(key) ?? saved);
  useEffect(() => setText(draftOf(key) ?? saved), [key, saved]);
  const change = (next: string) => {
    keepDraft(key, next === saved ? undefined : next);
    setText(next);
  };
  return [text, change];
}
