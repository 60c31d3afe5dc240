// Numbers, sizes and times in a form for people.

const INTEGER = new Intl.NumberFormat("en");
const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hour12: false });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function integer(value: number): string {
  return INTEGER.format(value);
}

export function bytes(value: number): string {
  for (const [unit, size] of [["GB", 2 ** 30], ["MB", 2 ** 20], ["KB", 2 ** 10]] as const) {
    if (value >= size) return `${(value / size).toFixed(value >= size * 100 ? 0 : 1)} ${unit}`;
  }
  return `${value} B`;
}

export function units(value: number): string {
  return value.toFixed(value >= 100 ? 0 : 2);
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(0)}%`;
}

export function milliseconds(value: number): string {
  if (value >= 10_000) return `${(value / 1000).toFixed(1)} s`;
  return `${value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)} ms`;
}

export function timeOfDay(seconds: number): string {
  return TIME.format(seconds * 1000);
}

export function moment(seconds: number): string {
  return MOMENT.format(seconds * 1000);
}

export function plural(count: number, noun: string): string {
  return `${integer(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Downloads a file in the browser. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
