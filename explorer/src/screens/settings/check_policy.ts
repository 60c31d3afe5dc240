// Checks an indexing policy before the server does, and names the location of each mistake.

export interface PolicyProblem {
  text: string;
  /** The text to underline, if the policy contains it. */
  near?: string;
}

type Json = Record<string, unknown>;

const MODES = ["consistent", "none"];
const ORDERS = ["ascending", "descending"];
const KNOWN = new Set([
  "automatic", "indexingMode", "includedPaths", "excludedPaths", "compositeIndexes", "spatialIndexes", "vectorIndexes",
  "fullTextIndexes",
]);

export function checkPolicy(policy: unknown): PolicyProblem[] {
  if (!isObject(policy)) return [{ text: "A policy is an object." }];
  const problems: PolicyProblem[] = [];
  const tell = (text: string, near?: unknown) => problems.push(near === undefined ? { text } : { text, near: JSON.stringify(near) });
  for (const name of Object.keys(policy)) {
    if (!KNOWN.has(name)) tell(`“${name}” is not part of a policy.`, name);
  }
  const mode = policy["indexingMode"];
  if (mode !== undefined && !MODES.includes(String(mode).toLowerCase())) tell("The mode is consistent or none.", mode);
  const included = pathsOf(policy["includedPaths"], "includedPaths", tell);
  const excluded = pathsOf(policy["excludedPaths"], "excludedPaths", tell);
  if (mode !== "none" && ![...included, ...excluded].includes("/*")) tell("The root path /* must be included or excluded.");
  for (const path of included.filter((path) => excluded.includes(path))) tell(`${path} is included and excluded.`, path);
  for (const composite of listOf(policy["compositeIndexes"])) {
    const parts = listOf(composite);
    if (parts.length < 2) tell("A composite index has two paths or more.");
    for (const part of parts) {
      if (!isObject(part) || typeof part["path"] !== "string") tell("Each part of a composite index has a path.");
      else if (/[*?[\]]/.test(part["path"])) tell("Paths of composite indexes end without /? or /*.", part["path"]);
      else if (part["order"] !== undefined && !ORDERS.includes(String(part["order"]))) tell("The order is ascending or descending.", part["order"]);
    }
  }
  return problems;
}

function pathsOf(value: unknown, name: string, tell: (text: string, near?: unknown) => void): string[] {
  if (value !== undefined && !Array.isArray(value)) tell(`${name} is a list.`, name);
  return listOf(value).flatMap((entry) => {
    const path = isObject(entry) ? entry["path"] : undefined;
    if (typeof path !== "string") {
      tell(`Each of ${name} has a path.`);
      return [];
    }
    if (!path.startsWith("/")) tell("A path begins with a slash.", path);
    else if (!/\/[?*]$/.test(path)) tell("A path ends with /? for a value or /* for all below it.", path);
    return [path];
  });
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
