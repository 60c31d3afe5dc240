// The plan of a query as a picture, from the indexes on the left to the rows on the right. The width of a
// stream is the number of its entries.

import type { PlanReport } from "../../protocol/query";
import { integer } from "../../ui/format";

interface Node {
  title: string;
  detail: string;
  entries: number | undefined;
  documents: number | undefined;
  below: Node[];
}

interface Placed extends Node {
  x: number;
  y: number;
  below: Placed[];
}

const BOX = { width: 224, height: 74 };
const GAP = { x: 74, y: 18 };
const DETAIL_CHARACTERS = 31;
const CONSIDERED = "considered: ";

export function Plan({ plan }: { plan: PlanReport }) {
  const steps = plan.plan.filter((line) => !line.startsWith(CONSIDERED));
  const considered = plan.plan.filter((line) => line.startsWith(CONSIDERED)).map((line) => line.slice(CONSIDERED.length));
  const root = parse(steps);
  return (
    <div class="plan">
      {root && <Picture root={root} plan={plan} />}
      <div class="plan-columns">
        <Counts plan={plan} />
        <Times plan={plan} />
        {considered.length > 0 && (
          <section>
            <h3>Also considered</h3>
            <ul class="considered">
              {considered.map((line) => {
                const [, what, cost] = /^(.*), cost (\d+)$/.exec(line) ?? [undefined, line, ""];
                return <li key={line}><code>{what}</code><span class="note">cost {cost && integer(Number(cost))}</span></li>;
              })}
            </ul>
          </section>
        )}
      </div>
    </div>
  );
}

/** Parses a plan. Indented lines are the inputs of the line above them. */
export function parse(lines: string[]): Node | undefined {
  const path: { indent: number; node: Node }[] = [];
  let root: Node | undefined;
  for (const line of lines) {
    const indent = line.length - line.trimStart().length;
    const [, text = "", counts = ""] = /^(.*?)(?: \(((?:entries|documents)[^()]*)\))?$/.exec(line.trim()) ?? [];
    const count = (name: string) => {
      const found = new RegExp(`${name} (\\d+)`).exec(counts)?.[1];
      return found === undefined ? undefined : Number(found);
    };
    const [title = "", ...rest] = text.startsWith("scan of documents") ? [text] : text.split(" ");
    const node: Node = { title, detail: rest.join(" "), entries: count("entries"), documents: count("documents"), below: [] };
    while (path.length > 0 && path.at(-1)!.indent >= indent) path.pop();
    const parent = path.at(-1)?.node ?? root;
    if (parent) parent.below.push(node);
    else root = node;
    path.push({ indent, node });
  }
  return root;
}

function Picture({ root, plan }: { root: Node; plan: PlanReport }) {
  const depth = depthOf(root);
  const placed = layOut(root, depth - 1, { next: 0 });
  const boxes = flatten(placed);
  const height = Math.max(...boxes.map((box) => box.y)) + BOX.height + 12;
  const column = (index: number) => 8 + index * (BOX.width + GAP.x);
  const documents: Placed = {
    title: "Items read",
    detail: plan.actual.documents === 0 ? "the index had everything" : "parsed and checked",
    entries: undefined,
    documents: plan.estimated.documents,
    below: [placed],
    x: column(depth),
    y: placed.y,
  };
  const rows: Placed = { title: "Rows", detail: "of this page", entries: undefined, documents: undefined, below: [documents], x: column(depth + 1), y: placed.y };
  const width = column(depth + 2) - GAP.x + 8;
  const actual = new Map<Placed, string>([
    [placed, `${integer(plan.actual.entries)} entries`],
    [documents, `${integer(plan.actual.documents)} items`],
    [rows, `${integer(plan.actual.rows)} rows`],
  ]);
  const all = [...boxes, documents, rows];
  return (
    <div class="plan-room" tabIndex={0} role="group" aria-label="Plan of the query">
      <svg class="plan-picture" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`Plan: ${describe(root)}, then ${plan.actual.documents} items, then ${plan.actual.rows} rows`}>
        {all.flatMap((box) => box.below.map((from) => <Stream key={`${from.x},${from.y}`} from={from} to={box} amount={amount(from, box, rows, documents, plan)} />))}
        {all.map((box) => <Box key={`${box.x},${box.y}`} box={box} actual={actual.get(box)} />)}
      </svg>
    </div>
  );
}

function amount(from: Placed, to: Placed, rows: Placed, documents: Placed, plan: PlanReport): number {
  if (to === rows) return plan.actual.rows;
  if (to === documents) return Math.max(plan.actual.documents, plan.actual.rows);
  return from.documents ?? from.entries ?? 0;
}

function Stream({ from, to, amount }: { from: Placed; to: Placed; amount: number }) {
  const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = [to.x, to.y + BOX.height / 2];
  const bend = (x2 - x1) / 2;
  return <path class="stream" d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`} stroke-width={1.5 + Math.log10(amount + 1) * 4} />;
}

function Box({ box, actual }: { box: Placed; actual: string | undefined }) {
  const counts = [
    box.entries !== undefined && `${integer(box.entries)} entries`,
    box.documents !== undefined && `${integer(box.documents)} items`,
  ].filter(Boolean);
  const estimated = counts.length > 0 ? `estimated ${counts.join(", ")}` : "";
  const detail = box.detail.length > DETAIL_CHARACTERS ? `${box.detail.slice(0, DETAIL_CHARACTERS - 1)}…` : box.detail;
  return (
    <g transform={`translate(${box.x} ${box.y})`} class={box.title.startsWith("scan") ? "plan-box scan" : "plan-box"}>
      <title>{`${box.title} ${box.detail} ${estimated}`}</title>
      <rect width={BOX.width} height={BOX.height} rx={9} />
      <text class="plan-title" x={14} y={22}>{box.title}</text>
      {actual && <text class="plan-actual" x={BOX.width - 14} y={22} text-anchor="end">{actual}</text>}
      <text class="plan-detail" x={14} y={42}>{detail}</text>
      <text class="plan-estimate" x={14} y={61}>{estimated}</text>
    </g>
  );
}

function Counts({ plan }: { plan: PlanReport }) {
  const rows = [
    { name: "Index entries", estimated: plan.estimated.entries, actual: plan.actual.entries },
    { name: "Items read", estimated: plan.estimated.documents, actual: plan.actual.documents },
    { name: "Rows", estimated: undefined, actual: plan.actual.rows },
  ];
  return (
    <section>
      <h3>Expected and found</h3>
      <table class="table small">
        <thead><tr><th></th><th class="number">Estimated</th><th class="number">Actual</th></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              <td class="number">{row.estimated === undefined ? "" : integer(row.estimated)}</td>
              <td class="number">{integer(row.actual)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Times({ plan }: { plan: PlanReport }) {
  const { compile, plan: planning, index, load, total } = plan.microseconds;
  const rest = Math.max(total - compile - planning - index - load, 0);
  const parts = [["compile", compile], ["plan", planning], ["index", index], ["load", load], ["run", rest]] as const;
  return (
    <section>
      <h3>Time on the server: {integer(total)} µs</h3>
      <div class="time-bar" role="img" aria-label={parts.map(([name, time]) => `${name} ${time} µs`).join(", ")}>
        {parts.map(([name, time]) => time > 0 && <span key={name} class={`time ${name}`} style={{ flexGrow: time }} title={`${name}: ${integer(time)} µs`} />)}
      </div>
      <ul class="legend">
        {parts.map(([name, time]) => <li key={name}><i class={`time ${name}`} />{name} <span class="note">{integer(time)}</span></li>)}
      </ul>
    </section>
  );
}

function depthOf(node: Node): number {
  return 1 + Math.max(0, ...node.below.map(depthOf));
}

/** Positions of the nodes: leaves are below each other, and every other node is in the middle of its inputs. */
function layOut(node: Node, level: number, room: { next: number }): Placed {
  const below = node.below.map((inner) => layOut(inner, level - 1, room));
  const first = below[0];
  const last = below.at(-1);
  const y = first && last ? (first.y + last.y) / 2 : 6 + (room.next++) * (BOX.height + GAP.y);
  return { ...node, below, x: 8 + level * (BOX.width + GAP.x), y };
}

function flatten(node: Placed): Placed[] {
  return [node, ...node.below.flatMap(flatten)];
}

function describe(node: Node): string {
  const below = node.below.map(describe).join(" and ");
  return `${node.title} ${node.detail}${below && ` of ${below}`}`.trim();
}
