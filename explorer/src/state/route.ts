// Which screen is shown. It is in the fragment of the address, so that a proxy's path does not matter
// and the back button works.

import { signal } from "@preact/signals";
import type { ContainerName } from "../protocol/catalogue";

export const CONTAINER_SCREENS = ["items", "query", "scripts", "partitions", "settings"] as const;
export type ContainerScreen = (typeof CONTAINER_SCREENS)[number];

export type Route =
  | { screen: "overview" }
  | { screen: "requests" }
  | { screen: "database"; database: string }
  | { screen: ContainerScreen; name: ContainerName };

export const route = signal<Route>(parse(location.hash));

addEventListener("hashchange", () => (route.value = parse(location.hash)));

function parse(hash: string): Route {
  const segments = hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const [first, database, container, screen] = segments;
  if (first === "requests") return { screen: "requests" };
  if (first !== "db" || !database) return { screen: "overview" };
  if (!container) return { screen: "database", database };
  const known = CONTAINER_SCREENS.find((known) => known === screen) ?? "items";
  return { screen: known, name: { database, container } };
}

export function href(to: Route): string {
  switch (to.screen) {
    case "overview":
      return "#/";
    case "requests":
      return "#/requests";
    case "database":
      return `#/db/${encodeURIComponent(to.database)}`;
    default:
      return `#/db/${encodeURIComponent(to.name.database)}/${encodeURIComponent(to.name.container)}/${to.screen}`;
  }
}

export function go(to: Route): void {
  location.hash = href(to);
}
