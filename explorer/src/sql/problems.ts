// From the places that the server names to those of the editor.

import type { Diagnostic } from "@codemirror/lint";
import type { SqlProblem } from "../protocol/errors";

/** The server counts characters, the editor half of them for those outside the basic plane. */
export function diagnostics(text: string, problems: SqlProblem[]): Diagnostic[] {
  return problems.map(({ start, end, message, code }) => {
    let from = offset(text, start);
    let to = Math.max(offset(text, end), from);
    // A problem at the end of the text still needs something to underline.
    if (from === to) from = Math.max(0, from - 1);
    to = Math.min(Math.max(to, from + 1), text.length);
    return { from: Math.min(from, to), to, severity: "error", message: `${message} ${code}`.trim() };
  });
}

function offset(text: string, characters: number): number {
  let at = 0;
  for (const character of text) {
    if (characters-- <= 0) break;
    at += character.length;
  }
  return at;
}
