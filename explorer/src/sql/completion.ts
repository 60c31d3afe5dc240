// The completions of a query: keywords, functions, aliases, and properties of the container.

import { type Completion, type CompletionContext, type CompletionResult, snippetCompletion } from "@codemirror/autocomplete";
import type { Shape } from "./sample";
import { CONSTANTS, FUNCTIONS, KEYWORDS } from "./words";

const PATH = /(?:[\p{L}_$][\p{L}\p{N}_$]*(?:\[[^\]]*\])*\.)+[\p{L}\p{N}_$]*$/u;
const WORD = /[\p{L}_$@][\p{L}\p{N}_$]*$/u;
/** Words that may follow a source without being its alias. */
const NOT_AN_ALIAS = new Set([...KEYWORDS, "ON"]);

const words: Completion[] = [
  ...KEYWORDS.map((label) => ({ label, type: "keyword", boost: -1 })),
  ...CONSTANTS.map((label) => ({ label, type: "constant", boost: -2 })),
  ...FUNCTIONS.map(([label, detail]) =>
    snippetCompletion(detail === "()" ? `${label}()` : `${label}(\${})`, { label, detail, type: "function", boost: -3 }),
  ),
];

/** `shape` may still be loading; typing does not wait for it. */
export function completions(shape: () => Shape | undefined) {
  return (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    const path = context.matchBefore(PATH);
    if (path) {
      const segments = path.text.split(".");
      const last = segments.pop() ?? "";
      const found = walk(shape(), aliases(text), segments);
      return { from: path.to - last.length, options: properties(found), validFor: /^[\p{L}\p{N}_$]*$/u };
    }
    const word = context.matchBefore(WORD);
    if (!word && !context.explicit) return null;
    const names = [...aliases(text).keys()].map((label) => ({ label, type: "variable", boost: 2 }));
    const parameters = [...new Set(text.match(/@[\w$]+/g))].map((label) => ({ label, type: "variable", boost: 1 }));
    return { from: word?.from ?? context.pos, options: [...names, ...parameters, ...words] };
  };
}

/** The aliases of the query, each with its path: `FROM c JOIN t IN c.tags`. */
export function aliases(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const from = /\bFROM\s+([\w$]+)(?:\s+(?:AS\s+)?([\w$]+))?/i.exec(text);
  found.set(from?.[1] ?? "c", []);
  // An apparent alias may be an unfinished keyword, so the source stays a name too.
  if (from?.[2] && !NOT_AN_ALIAS.has(from[2].toUpperCase())) found.set(from[2], []);
  for (const join of text.matchAll(/\b([\w$]+)\s+IN\s+([\w$]+(?:\.[\w$]+)+)/gi)) {
    const [alias, ...path] = [join[1] ?? "", ...(join[2] ?? "").split(".")];
    const base = found.get(path[0] ?? "");
    if (base) found.set(alias, [...base, ...path.slice(1), "[]"]);
  }
  return found;
}

function walk(shape: Shape | undefined, names: Map<string, string[]>, segments: string[]): Shape | undefined {
  const [alias, ...rest] = segments.flatMap((segment) => {
    const [name = "", ...indexes] = segment.split("[");
    return [name, ...indexes.map(() => "[]")];
  });
  const base = names.get(alias ?? "");
  if (!base) return undefined;
  return [...base, ...rest].reduce<Shape | undefined>((at, name) => at?.properties.get(name), shape);
}

function properties(shape: Shape | undefined): Completion[] {
  if (!shape) return [];
  return [...shape.properties]
    .filter(([name]) => /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name))
    .map(([label, below]) => ({
      label,
      type: "property",
      detail: [...below.types].join(" | "),
      boost: label.startsWith("_") ? -1 : 1,
    }));
}
