// JSON that keeps what a double cannot: whole numbers of 64 bits stay as they were written.

interface RawJson {
  rawJSON: string;
}

const native = JSON as unknown as {
  rawJSON?: (text: string) => RawJson;
  isRawJSON?: (value: unknown) => value is RawJson;
  parse(text: string, reviver: (key: string, value: unknown, context?: { source?: string }) => unknown): unknown;
};

const LONG_NUMBER = /[0-9]{16}/;

export function parseJson(text: string): unknown {
  // The slow way only where it can matter, and where the browser has it.
  if (!native.rawJSON || !LONG_NUMBER.test(text)) return JSON.parse(text);
  const raw = native.rawJSON;
  return native.parse(text, (_, value, context) => {
    const source = context?.source;
    const loses = typeof value === "number" && !Number.isSafeInteger(value) && source && /^-?\d{16,19}$/.test(source);
    return loses ? raw(source) : value;
  });
}

export function isExactNumber(value: unknown): value is RawJson {
  return native.isRawJSON?.(value) ?? false;
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "undefined";
}

/** One line of any value, for cells and previews. */
export function brief(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string") return value;
  return JSON.stringify(value) ?? "";
}

/** Headers carry ASCII only. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
