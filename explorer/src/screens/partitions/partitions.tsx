// The partition map: all hashed keys as a circle, divided into the physical partitions, live.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ContainerName } from "../../protocol/catalogue";
import { explain } from "../../protocol/errors";
import { type Partition, readPartitions } from "../../protocol/partitions";
import { brief } from "../../protocol/json";
import { bytes, integer, percent, timeOfDay, units } from "../../ui/format";
import { arcs, middle, sector } from "./ring";
import { touched } from "./touched";

const EVERY_MS = 2_000;
const RING = { outer: 150, inner: 112, heat: 158, load: 106 };
const GAP = 0.0025;
const EVENTS_MAX = 20;

interface MapEvent {
  at: number;
  text: string;
}

export function Partitions({ name }: { name: ContainerName }) {
  const [partitions, setPartitions] = useState<Partition[] | undefined>();
  const [problem, setProblem] = useState("");
  const [events, setEvents] = useState<MapEvent[]>([]);
  const [chosen, setChosen] = useState<string | undefined>();
  const before = useRef<Partition[] | undefined>(undefined);
  useEffect(() => {
    let stopped = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = async () => {
      try {
        const found = await readPartitions(name);
        if (stopped) return;
        const splits = before.current ? splitsBetween(before.current, found) : [];
        before.current = found;
        setPartitions(found);
        setProblem("");
        if (splits.length > 0) setEvents((old) => [...splits, ...old].slice(0, EVENTS_MAX));
      } catch (error) {
        if (!stopped) setProblem(explain(error));
      }
      if (!stopped) timer = setTimeout(() => void poll(), EVERY_MS);
    };
    void poll();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [name.database, name.container]);

  if (!partitions) return problem ? <p class="problem">{problem}</p> : <p class="empty">Reading…</p>;
  const read = touched.value;
  const reached = read && read.name.database === name.database && read.name.container === name.container ? new Set(read.partitions) : undefined;
  return (
    <div class="partitions scroll">
      <section class="card ring-card" aria-label="Map">
        <Ring partitions={partitions} reached={reached} chosen={chosen} onChoose={setChosen} />
        <p class="legend-line">
          <span><i class="key bytes" /> share of the data</span>
          <span><i class="key heat" /> use of its throughput</span>
          {reached && <span><i class="key touched" /> read by your last query</span>}
        </p>
        {problem && <p class="problem" role="alert">{problem}</p>}
      </section>
      <div class="stack">
        <section class="card" aria-labelledby="partition-list">
          <h2 id="partition-list">Physical partitions</h2>
          <List partitions={partitions} reached={reached} chosen={chosen} onChoose={setChosen} />
        </section>
        <HotKeys partitions={partitions} />
        {events.length > 0 && (
          <section class="card" aria-labelledby="events">
            <h2 id="events">Seen while you looked</h2>
            <ul class="events" aria-live="polite">
              {events.map((event) => <li key={event.at + event.text}><span class="note">{timeOfDay(event.at)}</span> {event.text}</li>)}
            </ul>
          </section>
        )}
      </div>
    </div>
  );
}

interface ShownProps {
  partitions: Partition[];
  reached: ReadonlySet<string> | undefined;
  chosen: string | undefined;
  onChoose: (id: string | undefined) => void;
}

function Ring({ partitions, reached, chosen, onChoose }: ShownProps) {
  const pieces = arcs(partitions);
  const largest = Math.max(1, ...partitions.map(({ load }) => load?.bytes ?? 0));
  const items = partitions.reduce((sum, { load }) => sum + (load?.items ?? 0), 0);
  const size = partitions.reduce((sum, { load }) => sum + (load?.bytes ?? 0), 0);
  const used = partitions.reduce((sum, { load }) => sum + (load?.throughput.used ?? 0), 0);
  const known = partitions.some(({ load }) => load);
  return (
    <svg class="ring" viewBox="-185 -185 370 370" role="img" aria-label={`${partitions.length} physical partitions on the circle of hashed keys`}>
      {partitions.map((partition, index) => {
        const arc = pieces[index]!;
        const { load } = partition;
        const heat = Math.min(1, load?.throughput.normalized ?? 0);
        const fill = load ? 0.16 + 0.72 * (load.bytes / largest) : 0.4;
        const label = middle(arc, (RING.inner + RING.outer) / 2);
        const isHot = (load?.throughput.throttled ?? 0) > 0;
        return (
          <g
            key={partition.id}
            class={["partition", chosen === partition.id && "chosen", isHot && "hot"].filter(Boolean).join(" ")}
            onMouseEnter={() => onChoose(partition.id)}
            onMouseLeave={() => onChoose(undefined)}
          >
            <title>{describe(partition)}</title>
            <path class="piece" d={sector(arc, RING.inner, RING.outer, GAP)} style={{ fillOpacity: fill }} />
            <path class="heat-room" d={sector(arc, RING.heat, RING.heat + 10, GAP)} />
            {heat > 0 && <path class="heat" d={sector({ from: arc.from, to: arc.from + (arc.to - arc.from) * Math.max(heat, 0.03) }, RING.heat, RING.heat + 10, Math.min(GAP, (arc.to - arc.from) * heat * 0.2))} />}
            {reached?.has(partition.id) && <path class="reached" d={sector(arc, RING.load - 6, RING.load, GAP)} />}
            {arc.to - arc.from > 0.02 && <text x={label.x} y={label.y + 4} text-anchor="middle">{partition.id}</text>}
          </g>
        );
      })}
      <g class="ring-middle" text-anchor="middle">
        <text class="ring-number" y={-12}>{known ? integer(items) : integer(partitions.length)}</text>
        <text class="ring-note" y={8}>{known ? "items" : "partitions"}</text>
        {known && <text class="ring-note" y={30}>{bytes(size)}</text>}
        {known && <text class="ring-note" y={48}>{units(used)} RU/s now</text>}
      </g>
    </svg>
  );
}

function List({ partitions, reached, chosen, onChoose }: ShownProps) {
  const known = partitions.some(({ load }) => load);
  return (
    <div class="table-room" tabIndex={0} role="group" aria-label="Partitions">
      <table class="table">
        <thead>
          <tr>
            <th>Id</th><th>From</th>
            {known && <><th class="number">Items</th><th class="number">Size</th><th class="number">RU/s</th><th class="number">Use</th><th class="number">Requests</th><th class="number">Throttled</th></>}
            {reached && <th>Query</th>}
          </tr>
        </thead>
        <tbody>
          {partitions.map((partition) => {
            const { load } = partition;
            return (
              <tr
                key={partition.id}
                class={chosen === partition.id ? "chosen" : ""}
                onMouseEnter={() => onChoose(partition.id)}
                onMouseLeave={() => onChoose(undefined)}
              >
                <th scope="row">{partition.id}{partition.parents.length > 0 && <span class="note"> of {partition.parents.join(", ")}</span>}</th>
                <td><code>{partition.minInclusive.slice(0, 8) || "0"}</code></td>
                {load && (
                  <>
                    <td class="number">{integer(load.items)}</td>
                    <td class="number">{bytes(load.bytes)}</td>
                    <td class="number">{units(load.throughput.used)}{load.throughput.provisioned !== null && <span class="note"> / {integer(load.throughput.provisioned)}</span>}</td>
                    <td class="number">{percent(load.throughput.normalized)}</td>
                    <td class="number">{integer(load.throughput.requests)}</td>
                    <td class={load.throughput.throttled > 0 ? "number bad" : "number"}>{integer(load.throughput.throttled)}</td>
                  </>
                )}
                {reached && <td>{reached.has(partition.id) ? <span class="badge good">read</span> : ""}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function HotKeys({ partitions }: { partitions: Partition[] }) {
  const keys = partitions
    .flatMap(({ id, load }) => (load?.hotKeys ?? []).map((hot) => ({ ...hot, partition: id })))
    .sort((a, b) => b.charge - a.charge)
    .slice(0, 10);
  if (keys.length === 0) return null;
  return (
    <section class="card" aria-labelledby="hot">
      <h2 id="hot">Busiest keys</h2>
      <ul class="hot-keys">
        {keys.map((hot) => (
          <li key={`${hot.partition}${brief(hot.key)}`}>
            <code>{brief(hot.key)}</code>
            <meter min={0} max={1} value={hot.share} aria-label={`Share of partition ${hot.partition}`} />
            <span class="note">{percent(hot.share)} of {hot.partition}, {units(hot.charge)} RU</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function describe({ id, minInclusive, maxExclusive, load }: Partition): string {
  const range = `${minInclusive || "0"} to ${maxExclusive}`;
  if (!load) return `partition ${id}: ${range}`;
  return `partition ${id}: ${integer(load.items)} items, ${bytes(load.bytes)}, ${percent(load.throughput.normalized)} used; ${range}`;
}

/** The splits between two reads: a partition has split if it is gone and others name it as their parent. */
function splitsBetween(before: Partition[], after: Partition[]): MapEvent[] {
  const ids = new Set(after.map(({ id }) => id));
  return before.flatMap((old) => {
    const children = after.filter(({ parents }) => parents.includes(old.id)).map(({ id }) => id);
    if (ids.has(old.id) || children.length === 0) return [];
    return [{ at: Date.now() / 1000, text: `Partition ${old.id} was split into ${children.join(" and ")}.` }];
  });
}
