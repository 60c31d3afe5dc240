// Numbers of a result as bars or a line, drawn without a library.

import { useMemo, useState } from "preact/hooks";
import { brief } from "../../protocol/json";
import { Field } from "../../ui/dialog";
import { integer } from "../../ui/format";
import { tableOf } from "./table";

const WIDTH = 960;
const HEIGHT = 380;
const MARGIN = { top: 16, right: 16, bottom: 78, left: 70 };
const POINTS_MAX = 400;
const LABELS_MAX = 24;
const LABEL_CHARACTERS = 14;

export function Chart({ rows }: { rows: unknown[] }) {
  const columns = useMemo(() => tableOf(rows).columns, [rows]);
  const numeric = columns.filter((column) => rows.slice(0, 50).some((row) => typeof column.value(row) === "number"));
  const [kind, setKind] = useState<"bars" | "line">("bars");
  const [chosenY, setY] = useState("");
  const [chosenX, setX] = useState("");
  const y = numeric.find((column) => column.title === chosenY) ?? numeric.find((column) => column.title !== "_ts") ?? numeric[0];
  const x = columns.find((column) => column.title === chosenX) ?? columns.find((column) => column !== y && column.title !== "id") ?? columns[0];
  if (!y || !x) return <p class="empty">A chart needs a column of numbers.</p>;
  const points = rows.slice(0, POINTS_MAX).flatMap((row) => {
    const value = y.value(row);
    return typeof value === "number" ? [{ label: brief(x.value(row)), value }] : [];
  });
  return (
    <div class="chart">
      <div class="field-row">
        <Field label="Horizontal">
          <select value={x.title} onChange={(event) => setX(event.currentTarget.value)}>
            {columns.map((column) => <option key={column.title}>{column.title}</option>)}
          </select>
        </Field>
        <Field label="Vertical">
          <select value={y.title} onChange={(event) => setY(event.currentTarget.value)}>
            {numeric.map((column) => <option key={column.title}>{column.title}</option>)}
          </select>
        </Field>
        <Field label="Kind">
          <select value={kind} onChange={(event) => setKind(event.currentTarget.value as "bars" | "line")}>
            <option value="bars">Bars</option>
            <option value="line">Line</option>
          </select>
        </Field>
        {rows.length > POINTS_MAX && <p class="note">The first {integer(POINTS_MAX)} rows.</p>}
      </div>
      <Drawing points={points} kind={kind} label={`${y.title} by ${x.title}`} />
    </div>
  );
}

interface Point {
  label: string;
  value: number;
}

function Drawing({ points, kind, label }: { points: Point[]; kind: "bars" | "line"; label: string }) {
  const low = Math.min(0, ...points.map(({ value }) => value));
  const high = Math.max(0, ...points.map(({ value }) => value)) || 1;
  const ticks = steps(low, high);
  const [bottom, top] = [ticks[0] ?? 0, ticks.at(-1) ?? 1];
  const inner = { width: WIDTH - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
  const at = (value: number) => MARGIN.top + inner.height * (1 - (value - bottom) / (top - bottom));
  const slot = inner.width / Math.max(points.length, 1);
  const middle = (index: number) => MARGIN.left + slot * (index + 0.5);
  const every = Math.ceil(points.length / LABELS_MAX);
  return (
    <svg class="drawing" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`Chart of ${label}`}>
      {ticks.map((tick) => (
        <g key={tick}>
          <line class="chart-line" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={at(tick)} y2={at(tick)} />
          <text class="chart-text" x={MARGIN.left - 8} y={at(tick) + 4} text-anchor="end">{short(tick)}</text>
        </g>
      ))}
      {kind === "bars" && points.map((point, index) => (
        <rect
          key={index}
          class="chart-bar"
          x={middle(index) - slot * 0.36}
          width={Math.max(slot * 0.72, 1)}
          y={Math.min(at(point.value), at(0))}
          height={Math.max(Math.abs(at(point.value) - at(0)), 1)}
          rx={Math.min(3, slot * 0.2)}
        >
          <title>{`${point.label}: ${point.value}`}</title>
        </rect>
      ))}
      {kind === "line" && (
        <polyline class="chart-curve" points={points.map((point, index) => `${middle(index)},${at(point.value)}`).join(" ")} />
      )}
      {points.map((point, index) => index % every === 0 && (
        <text
          key={index}
          class="chart-text"
          text-anchor="end"
          transform={`translate(${middle(index) + 4} ${HEIGHT - MARGIN.bottom + 16}) rotate(-38)`}
        >
          {point.label.length > LABEL_CHARACTERS ? `${point.label.slice(0, LABEL_CHARACTERS - 1)}…` : point.label}
        </text>
      ))}
    </svg>
  );
}

/** About five round numbers that span the values. */
function steps(low: number, high: number): number[] {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough) ?? power;
  const found: number[] = [];
  for (let tick = Math.floor(low / step); tick * step < high + step; tick++) found.push(tick * step);
  return found;
}

function short(value: number): string {
  return Math.abs(value) >= 10_000 ? new Intl.NumberFormat("en", { notation: "compact" }).format(value) : String(Number(value.toPrecision(6)));
}
