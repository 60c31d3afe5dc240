// Finds the location at which a text stops being JSON. Browsers describe the location in their own words,
// and some error messages have no location.

import { type Diagnostic, linter } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";

export interface JsonMistake {
  /** The offset of the first wrong character, or the length of the text if its end is missing. */
  at: number;
  message: string;
}

/** The expected token: `element` and `member` follow an opening bracket, `next` follows a value. */
type Expected = "value" | "element" | "member" | "name" | "colon" | "next";

const SPACE = /[ \t\r\n]*/y;
const LITERAL = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const STRING_BEGIN = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y;

/** The first mistake of a text. Undefined if the text is JSON. */
export function jsonMistake(text: string): JsonMistake | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return scan(text) ?? { at: 0, message: error instanceof Error ? error.message : String(error) };
  }
}

/** The mistake with its location, as a sentence. */
export function describeMistake(text: string, { at, message }: JsonMistake): string {
  const before = text.slice(0, at).split("\n");
  return `Line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${message}`;
}

/** Underlines the mistake in the text of an editor. */
export function jsonDiagnostics(view: EditorView): Diagnostic[] {
  const text = view.state.doc.toString();
  const mistake = jsonMistake(text);
  if (!mistake) return [];
  const { at, message } = mistake;
  return [{ from: at, to: Math.min(at + 1, text.length), severity: "error", message }];
}

export const jsonLinter = linter(jsonDiagnostics);

function scan(text: string): JsonMistake | undefined {
  const open: ("}" | "]")[] = [];
  let expected = "value" as Expected;
  let at = skip(SPACE, text, 0);
  for (; at < text.length; at = skip(SPACE, text, at)) {
    const char = text[at]!;
    const closing = open.at(-1);
    const closes = char === closing && (expected === "next" || expected === "element" || expected === "member");
    if (closes) {
      open.pop();
      expected = "next";
      at++;
    } else if (expected === "next" && char === "," && closing) {
      expected = closing === "}" ? "name" : "value";
      at++;
    } else if (expected === "colon" && char === ":") {
      expected = "value";
      at++;
    } else if (char === '"' && expected !== "next" && expected !== "colon") {
      const end = skip(STRING_BEGIN, text, at);
      if (text[end] !== '"') return brokenString(text, at, end);
      expected = expected === "member" || expected === "name" ? "colon" : "next";
      at = end + 1;
    } else if (expected === "value" || expected === "element") {
      const end = char === "{" || char === "[" ? at + 1 : skip(LITERAL, text, at);
      if (end === at) return { at, message: wanted(expected, closing) };
      if (char === "{" || char === "[") {
        open.push(char === "{" ? "}" : "]");
        expected = char === "{" ? "member" : "element";
      } else expected = "next";
      at = end;
    } else return { at, message: wanted(expected, closing) };
  }
  if (expected === "next" && open.length === 0) return undefined;
  return { at, message: `The text ends too early. ${wanted(expected, open.at(-1))}` };
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function brokenString(text: string, begin: number, end: number): JsonMistake {
  if (text[end] === "\\") return { at: end, message: "A string has no such escape." };
  const isOpen = end >= text.length || text[end] === "\n" || text[end] === "\r";
  if (isOpen) return { at: begin, message: "The string has no closing quote on its line." };
  return { at: end, message: "A control character in a string must be escaped." };
}

function wanted(expected: Expected, closing: "}" | "]" | undefined): string {
  switch (expected) {
    case "value":
      return "A value is expected here.";
    case "element":
      return "A value or ] is expected here.";
    case "member":
      return "A name in double quotes or } is expected here.";
    case "name":
      return "A name in double quotes is expected here.";
    case "colon":
      return "A colon is expected here.";
    case "next":
      return closing ? `A comma or ${closing} is expected here.` : "Nothing may follow the value.";
  }
}
