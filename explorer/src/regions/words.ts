// The states of regions and links, in words.

import { integer, milliseconds, plural } from "../ui/format";
import type { Lag, Link, Region, Report } from "./operators";

export function stateOf(region: Region, report: Report): string {
  if (region.state === "write" && report.multiWrite) return "write, hub";
  return region.state === "read" && report.multiWrite ? "write" : region.state;
}

/** The lag of a region: its own figure, or the larger figure of a region that sends to it. */
export function lagOf(region: Region, report: Report): Lag | undefined {
  const known = report.links.filter(({ to }) => to === region.name).map(({ behind }) => behind);
  const lags = [region.lag, ...known].filter((lag) => lag !== null);
  return lags.toSorted((one, other) => other.records - one.records)[0];
}

export function behind(region: Region, report: Report): string {
  if (region.state === "removed") return "";
  const lag = lagOf(region, report);
  if (!lag) return "unknown";
  return lag.records === 0 ? "nothing" : `${plural(lag.records, "record")}, ${milliseconds(lag.millis)}`;
}

/** The most important fault of a link. Empty for a normal link. */
export function troubleOf(link: Link): string {
  if (link.cut) return "cut";
  if (link.paused) return "paused";
  return link.delayMillis > 0 ? `${integer(link.delayMillis)} ms` : "";
}

export function lacksOf(link: Link): string {
  if (!link.behind) return "";
  return link.behind.records === 0 ? "nothing" : plural(link.behind.records, "record");
}
