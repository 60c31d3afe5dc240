// The regions on a circle, with a curve for each direction of replication. The tables have the same buttons
// as this picture, for people who use no mouse.

import { integer } from "../ui/format";
import { CENTRE, type Point, RADII, RADIUS, curve, isAbove, position, viewBox } from "./geometry";
import type { Link, Region, Report } from "./operators";
import { lagOf, stateOf, troubleOf } from "./words";

export type Choice = { region: string } | { from: string; to: string };

export function RegionMap({ report, choice, onChoose }: { report: Report; choice: Choice | undefined; onChoose: (choice: Choice) => void }) {
  const shown = report.regions.filter((region) => region.state !== "removed");
  const positions = new Map(shown.map((region, index) => [region.name, position(index, shown.length)]));
  const troubles = report.links.filter(troubleOf).length;
  const label = `${shown.length} regions, ${troubles === 0 ? "every link is open" : `${troubles} of ${report.links.length} links are not as usual`}`;
  return (
    <svg class="region-map" viewBox={viewBox([...positions.values()])} role="img" aria-label={label}>
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
          <path class="arrow" d="M0 0 8 4 0 8Z" />
        </marker>
      </defs>
      <ellipse class="region-orbit" cx={CENTRE.x} cy={CENTRE.y} rx={RADII.x} ry={RADII.y} />
      {report.links.map((link) => {
        const [from, to] = [positions.get(link.from), positions.get(link.to)];
        if (!from || !to) return null;
        const chosen = choice && "from" in choice && choice.from === link.from && choice.to === link.to;
        return <Curve key={`${link.from}\n${link.to}`} link={link} from={from} to={to} chosen={chosen === true} onChoose={() => onChoose({ from: link.from, to: link.to })} />;
      })}
      {shown.map((region) => {
        const at = positions.get(region.name);
        const chosen = choice && "region" in choice && choice.region === region.name;
        return at && <Body key={region.name} region={region} report={report} at={at} chosen={chosen === true} onChoose={() => onChoose({ region: region.name })} />;
      })}
    </svg>
  );
}

function Curve({ link, from, to, chosen, onChoose }: { link: Link; from: Point; to: Point; chosen: boolean; onChoose: () => void }) {
  const { path, middle } = curve(from, to);
  const kind = link.cut ? "cut" : link.paused ? "paused" : link.delayMillis > 0 ? "slow" : "open";
  const words = [troubleOf(link), link.behind && link.behind.records > 0 ? `${integer(link.behind.records)} behind` : ""];
  return (
    <g class={["link", kind, chosen ? "chosen" : ""].join(" ")} onClick={onChoose}>
      <path class="link-line" d={path} marker-end="url(#arrow)" />
      <path class="link-room" d={path} />
      <text x={middle.x} y={middle.y + 4} text-anchor="middle">{words.filter(Boolean).join(", ")}</text>
    </g>
  );
}

function Body({ region, report, at, chosen, onChoose }: { region: Region; report: Report; at: Point; chosen: boolean; onChoose: () => void }) {
  const lag = lagOf(region, report);
  const name = at.y + (isAbove(at) ? -RADIUS - 26 : RADIUS + 20);
  return (
    <g class={["region", region.state, chosen ? "chosen" : ""].join(" ")} onClick={onChoose}>
      <circle cx={at.x} cy={at.y} r={RADIUS} />
      <circle class="region-core" cx={at.x} cy={at.y} r={region.state === "write" ? 12 : 7} />
      <text class="region-name" x={at.x} y={name} text-anchor="middle">{region.name}</text>
      <text class="region-state" x={at.x} y={name + 16} text-anchor="middle">
        {lag && lag.records > 0 ? `${stateOf(region, report)}, ${integer(lag.records)} behind` : stateOf(region, report)}
      </text>
    </g>
  );
}
