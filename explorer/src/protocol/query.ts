// Queries over a whole container or one of its keys, page by page.

import { type ContainerName, containerLink, containerPath } from "./catalogue";
import { keyHeader } from "./partition_key";
import { send } from "./request";

export interface Parameter {
  name: string;
  value: unknown;
}

export interface QueryAsk {
  name: ContainerName;
  text: string;
  parameters?: Parameter[];
  /** Only this logical partition. */
  key?: unknown[] | undefined;
  pageSize: number;
  continuation?: string | undefined;
  /** Ask for metrics, indexes and the plan. */
  reports?: boolean;
  signal?: AbortSignal | undefined;
}

export interface QueryPage {
  rows: unknown[];
  continuation: string | undefined;
  charge: number;
  milliseconds: number;
  /** Physical partitions that were read. */
  partitions: string[];
  metrics: Record<string, number> | undefined;
  indexes: IndexReport | undefined;
  plan: PlanReport | undefined;
}

export interface IndexReport {
  UtilizedIndexes: IndexLists;
  PotentialIndexes: IndexLists;
}

interface IndexLists {
  SingleIndexes: { IndexSpec: string }[];
  CompositeIndexes: { IndexSpecs: string[] }[];
}

export interface PlanReport {
  plan: string[];
  estimated: { entries: number; documents: number };
  actual: { entries: number; documents: number; rows: number };
  microseconds: { compile: number; plan: number; index: number; load: number; total: number };
}

export async function queryPage(ask: QueryAsk): Promise<QueryPage> {
  const reports = ask.reports ? "True" : undefined;
  const answer = await send<{ Documents: unknown[] }>({
    method: "POST",
    path: [...containerPath(ask.name), "docs"],
    type: "docs",
    link: containerLink(ask.name),
    headers: {
      "content-type": "application/query+json",
      "x-ms-documentdb-isquery": "True",
      "x-ms-documentdb-query-enablecrosspartition": "True",
      "x-ms-max-item-count": String(ask.pageSize),
      "x-ms-continuation": ask.continuation,
      "x-ms-documentdb-partitionkey": ask.key && keyHeader(ask.key),
      "x-ms-documentdb-populatequerymetrics": reports,
      "x-ms-cosmos-populateindexmetrics-v2": reports,
      "x-orrery-explain": reports,
    },
    body: { query: ask.text, parameters: ask.parameters ?? [] },
    signal: ask.signal,
  });
  const { headers } = answer;
  return {
    rows: answer.body.Documents,
    continuation: headers.get("x-ms-continuation") ?? undefined,
    charge: answer.charge,
    milliseconds: answer.milliseconds,
    partitions: partitionsOf(headers.get("x-ms-session-token")),
    metrics: metricsOf(headers.get("x-ms-documentdb-query-metrics")),
    indexes: encodedJson<IndexReport>(headers.get("x-ms-cosmos-index-utilization")),
    plan: encodedJson<PlanReport>(headers.get("x-orrery-query-plan")),
  };
}

/** A session token has a part for each partition that answered. */
function partitionsOf(token: string | null): string[] {
  const parts = (token ?? "").split(",").map((part) => part.split(":")[0] ?? "");
  return [...new Set(parts.filter((id) => id !== ""))];
}

function metricsOf(text: string | null): Record<string, number> | undefined {
  if (!text) return undefined;
  const pairs = text.split(";").map((pair) => pair.split("="));
  return Object.fromEntries(pairs.map(([name, value]) => [name ?? "", Number(value)]));
}

function encodedJson<T>(text: string | null): T | undefined {
  if (!text) return undefined;
  try {
    return JSON.parse(decodeURIComponent(text)) as T;
  } catch {
    return undefined;
  }
}
