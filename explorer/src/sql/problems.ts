// Converts the locations of the server to locations of the editor.

import type { Diagnostic } from "@codemirror/lint";
import type { SqlProblem } from "../protocol/errors";

/** The server counts code points. The editor counts UTF-16 units, of which some characters need two. */
export function diagnostics(text: string, problems: SqlProblem[]): Diagnostic[] {
  return problems.map(({ start, end, message, code }) => {
    let from = offset(text, start);
    let to = Math.max(offset(text, end), from);
    // A mistake at the end of the text also needs a character to underline.
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
