// The present screen. The fragment of the URL contains it, so that the path of a proxy does not
// matter and the back button works.

import { signal } from "@preact/signals";
import type { ContainerName } from "../protocol/catalogue";
import type { ScriptKind } from "../protocol/scripts";

export const CONTAINER_SCREENS = ["items", "query", "scripts", "partitions", "settings"] as const;
export type ContainerScreen = (typeof CONTAINER_SCREENS)[number];

/** A screen with the names that it needs. */
export type Route =
  | { screen: "overview" }
  | { screen: "requests" }
  | { screen: "database"; database: string; part?: "users" }
  | { screen: ContainerScreen; name: ContainerName; script?: ScriptName };

export interface ScriptName {
  kind: ScriptKind;
  id: string;
}

const USERS = "/users";
const SCRIPT_KINDS: ScriptKind[] = ["sprocs", "triggers", "udfs"];

/** Parses the fragment. An unknown fragment shows the overview. */
function parse(hash: string): Route {
  const segments = decoded(hash.replace(/^#\/?/, "").split("/"));
  const [first, database, container, screen, scriptKind, scriptId] = segments;
  if (first === "requests") return { screen: "requests" };
  if (first !== "db" || !database) return { screen: "overview" };
  if (!container) return { screen: "database", database };
  // No container has this name, because a container name cannot contain a slash.
  if (container === USERS) return { screen: "database", database, part: "users" };
  const known = CONTAINER_SCREENS.find((known) => known === screen) ?? "items";
  const kind = SCRIPT_KINDS.find((kind) => kind === scriptKind);
  const script = known === "scripts" && kind && scriptId ? { script: { kind, id: scriptId } } : {};
  return { screen: known, name: { database, container }, ...script };
}

/** Decodes path segments. A URL that a person typed may be invalid. */
function decoded(segments: string[]): string[] {
  try {
    return segments.map(decodeURIComponent);
  } catch {
    return [];
  }
}

/** The link to a screen. */
export function href(to: Route): string {
  switch (to.screen) {
    case "overview":
      return "#/";
    case "requests":
      return "#/requests";
    case "database":
      return `#/db/${encodeURIComponent(to.database)}${to.part ? `/${encodeURIComponent(USERS)}` : ""}`;
    default: {
      const script = to.script ? [to.script.kind, to.script.id] : [];
      return `#/db/${[to.name.database, to.name.container, to.screen, ...script].map(encodeURIComponent).join("/")}`;
    }
  }
}

export function go(to: Route): void {
  location.hash = href(to);
}

export const route = signal<Route>(parse(location.hash));

addEventListener("hashchange", () => (route.value = parse(location.hash)));
