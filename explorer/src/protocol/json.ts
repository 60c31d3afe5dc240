// JSON with exact 64-bit integers, which a double cannot represent: they keep the text of the server.

interface RawJson {
  rawJSON: string;
}

/** Parts of JSON that the type definitions of TypeScript do not contain yet. */
const native = JSON as unknown as {
  rawJSON?: (text: string) => RawJson;
  isRawJSON?: (value: unknown) => value is RawJson;
  parse(text: string, reviver: (key: string, value: unknown, context?: { source?: string }) => unknown): unknown;
};

const LONG_NUMBER = /[0-9]{16}/;

/** Parses JSON. Integers beyond 2^53 stay exact where the browser supports it. */
export function parseJson(text: string): unknown {
  // The slower parser runs only for texts with long numbers, in browsers that support it.
  if (!native.rawJSON || !LONG_NUMBER.test(text)) return JSON.parse(text);
  const raw = native.rawJSON;
  return native.parse(text, (_, value, context) => {
    const source = context?.source;
    const loses = typeof value === "number" && !Number.isSafeInteger(value) && source && /^-?\d{16,19}$/.test(source);
    return loses ? raw(source) : value;
  });
}

/** Returns whether a value is an integer that keeps its text. */
export function isExactNumber(value: unknown): value is RawJson {
  return native.isRawJSON?.(value) ?? false;
}

/** A value as indented JSON. */
export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "undefined";
}

/** Any value on one line, for cells and previews. */
export function brief(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  return JSON.stringify(value) ?? "";
}

/** JSON with ASCII characters only, as HTTP headers require. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
