// Colours for queries. The server parses the grammar; this module only classifies words.

import { LanguageSupport, StreamLanguage, type StringStream } from "@codemirror/language";
import { CONSTANTS, FUNCTIONS, KEYWORDS } from "./words";

const keywords = new Set(KEYWORDS);
const constants = new Set(CONSTANTS);
const functions = new Set(FUNCTIONS.map(([name]) => name));

interface State {
  inComment: boolean;
  afterDot: boolean;
}

function token(stream: StringStream, state: State): string | null {
  if (state.inComment) {
    state.inComment = !stream.match(/^.*?\*\//);
    if (state.inComment) stream.skipToEnd();
    return "comment";
  }
  if (stream.eatSpace()) return null;
  const { afterDot } = state;
  state.afterDot = false;
  if (stream.match(/^--.*/)) return "comment";
  if (stream.match("/*")) {
    state.inComment = true;
    return "comment";
  }
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.|'')*'?/)) return "string";
  if (stream.match(/^(?:0x[0-9a-f]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)/i)) return "number";
  if (stream.match(/^@[\w$]+/)) return "variableName.special";
  const word = stream.match(/^[\p{L}_$][\p{L}\p{N}_$]*/u);
  if (word) {
    const text = (word as RegExpMatchArray)[0];
    if (afterDot) return "propertyName";
    if (keywords.has(text.toUpperCase())) return "keyword";
    if (constants.has(text.toLowerCase())) return "atom";
    if (functions.has(text.toUpperCase()) && /^\s*\(/.test(stream.string.slice(stream.pos))) return "variableName.function";
    return text.toLowerCase() === "udf" ? "keyword" : "variableName";
  }
  state.afterDot = stream.next() === ".";
  return null;
}

const language = StreamLanguage.define<State>({
  name: "orrery-sql",
  startState: () => ({ inComment: false, afterDot: false }),
  token,
  languageData: { commentTokens: { line: "--", block: { open: "/*", close: "*/" } }, closeBrackets: { brackets: ["(", "[", "{", "'", '"'] } },
});

export const sql = (): LanguageSupport => new LanguageSupport(language);
