// The recent requests to the server.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { explain, isCancelled } from "../protocol/errors";
import { ownActivityIds } from "../protocol/request";
import { type LoggedRequest, readRequests } from "../protocol/requests";
import { Button } from "../ui/button";
import { type Column, DataGrid } from "../ui/data_grid";
import { integer, milliseconds, plural, timeOfDay, units } from "../ui/format";

const EVERY_MS = 1_000;
const KEPT = 10_000;
const SECONDS_DRAWN = 60;

const of = <T,>(read: (request: LoggedRequest) => T) => (row: unknown) => read(row as LoggedRequest);

/** The path with decoded names. An invalid path stays as it is. */
function readable(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

const COLUMNS: Column[] = [
  { title: "Time", value: of((request) => timeOfDay(request.time)) },
  { title: "Method", value: of((request) => request.method) },
  { title: "Path", value: of((request) => readable(request.path)) },
  {
    title: "Status",
    value: of((request) => request.status),
    render: of((request) => <span class={`status s${Math.floor(request.status / 100)}`}>{request.status}{request.substatus ? `/${request.substatus}` : ""}</span>),
  },
  { title: "RU", value: of((request) => request.charge), render: of((request) => units(request.charge)) },
  { title: "Duration", value: of((request) => request.durationMs), render: of((request) => milliseconds(request.durationMs)) },
  { title: "Partition", value: of((request) => request.partition) },
  { title: "Client", value: of((request) => request.client) },
];

export function Requests() {
  const [requests, setRequests] = useState<LoggedRequest[]>([]);
  const [problem, setProblem] = useState("");
  const [paused, setPaused] = useState(false);
  /** The server logs requests only from this tab's first read on. */
  const [kept, setKept] = useState(false);
  const [filter, setFilter] = useState("");
  const [status, setStatus] = useState("all");
  const [own, setOwn] = useState(false);
  const [open, setOpen] = useState<LoggedRequest | undefined>();
  const after = useRef(0);
  useEffect(() => {
    if (paused) return;
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = async () => {
      try {
        const { next, requests } = await readRequests(after.current, controller.signal);
        after.current = next;
        setProblem("");
        setKept(true);
        if (requests.length > 0) setRequests((old) => [...requests.toReversed(), ...old].slice(0, KEPT));
      } catch (error) {
        if (isCancelled(error)) return;
        setProblem(explain(error));
      }
      timer = setTimeout(() => void poll(), EVERY_MS);
    };
    void poll();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [paused]);

  const shown = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    return requests.filter((request) => {
      if (!own && ownActivityIds.has(request.activityId)) return false;
      if (status !== "all" && Math.floor(request.status / 100) !== Number(status)) return false;
      const text = `${request.method} ${request.path} ${request.status} ${request.activityId} ${request.client ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }, [requests, filter, status, own]);
  const charge = shown.reduce((sum, request) => sum + request.charge, 0);
  return (
    <div class="page requests">
      <header class="page-head compact">
        <h1>Requests</h1>
        <span class={paused || !kept ? "live off" : "live"}>{paused ? "paused" : kept ? "live" : "connecting"}</span>
        <span class="spacer" />
        <Button icon={paused ? "play" : "pause"} onClick={() => setPaused(!paused)}>{paused ? "Go on" : "Pause"}</Button>
        <Button icon="delete" onClick={() => setRequests([])}>Clear</Button>
      </header>
      <Rate requests={shown} />
      <div class="toolbar">
        <span class="filter">
          <input type="search" value={filter} placeholder="path, method, client, activity id" aria-label="Filter" spellcheck={false} onInput={(event) => setFilter(event.currentTarget.value)} />
        </span>
        <label class="inline-field">
          <span>Status</span>
          <select value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
            <option value="all">all</option>
            <option value="2">2xx</option>
            <option value="3">3xx</option>
            <option value="4">4xx</option>
            <option value="5">5xx</option>
          </select>
        </label>
        <label class="tick-field">
          <input type="checkbox" checked={own} onChange={(event) => setOwn(event.currentTarget.checked)} />
          <span>of this tab too</span>
        </label>
      </div>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {shown.length > 0
        ? <DataGrid label="Requests" columns={COLUMNS} rows={shown} onOpen={(index) => setOpen(shown[index])} current={open ? shown.indexOf(open) : undefined} />
        : <div class="empty-state"><p>{kept ? "Nothing yet. Requests of programs appear here while you look; nothing is kept when nobody does." : "Asking the server to keep a log…"}</p></div>}
      {open && (
        <dl class="request-detail" aria-label="Request">
          <div><dt>Path</dt><dd><code>{open.method} {open.path}</code></dd></div>
          <div><dt>Activity id</dt><dd><code>{open.activityId}</code></dd></div>
          <div><dt>Client</dt><dd>{open.client ?? "unknown"}</dd></div>
        </dl>
      )}
      <p class="status-line" role="status">{plural(shown.length, "request")} · {units(charge)} RU</p>
    </div>
  );
}

/** The requests of each second of the last minute, with failures apart. */
function Rate({ requests }: { requests: LoggedRequest[] }) {
  const now = Math.floor(Date.now() / 1000);
  const seconds = Array.from({ length: SECONDS_DRAWN }, () => ({ good: 0, bad: 0 }));
  for (const request of requests) {
    const bucket = seconds[SECONDS_DRAWN - 1 - (now - Math.floor(request.time))];
    if (bucket) bucket[request.status < 400 ? "good" : "bad"]++;
  }
  const highest = Math.max(1, ...seconds.map(({ good, bad }) => good + bad));
  const sum = seconds.reduce((sum, { good, bad }) => sum + good + bad, 0);
  return (
    <div class="rate">
      <svg viewBox={`0 0 ${SECONDS_DRAWN * 4} 40`} preserveAspectRatio="none" role="img" aria-label={`${sum} requests in the last minute`}>
        {seconds.map(({ good, bad }, index) => {
          const [goodHeight, badHeight] = [(good / highest) * 38, (bad / highest) * 38];
          return (
            <g key={index}>
              <rect class="rate-good" x={index * 4} width={3} y={40 - goodHeight} height={goodHeight} />
              <rect class="rate-bad" x={index * 4} width={3} y={40 - goodHeight - badHeight} height={badHeight} />
            </g>
          );
        })}
      </svg>
      <span class="note">{sum === 0 ? "none in the last minute" : `${integer(sum)} in the last minute, at most ${integer(highest)} a second`}</span>
    </div>
  );
}
