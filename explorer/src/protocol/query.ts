// Queries over a whole container or one partition key, page by page.

import { type ContainerName, containerLink, containerPath } from "./catalogue";
import { keyHeader } from "./partition_key";
import { send } from "./request";

/** A parameter of a query. */
export interface Parameter {
  name: string;
  value: unknown;
}

/** A query, and the page to read. */
export interface QuerySpec {
  name: ContainerName;
  text: string;
  parameters?: Parameter[];
  /** The partition key, for a query of one logical partition. */
  key?: unknown[] | undefined;
  pageSize: number;
  continuation?: string | undefined;
  /** Whether to request metrics, index metrics and the plan. */
  reports?: boolean;
  signal?: AbortSignal | undefined;
}

/** One page of rows, with the reports that were requested. */
export interface QueryPage {
  rows: unknown[];
  continuation: string | undefined;
  charge: number;
  milliseconds: number;
  /** The physical partitions that the query read. */
  partitions: string[];
  metrics: Record<string, number> | undefined;
  indexes: IndexReport | undefined;
  plan: PlanReport | undefined;
}

/** The indexes that served the query, and those that would serve it. */
export interface IndexReport {
  UtilizedIndexes: IndexLists;
  PotentialIndexes: IndexLists;
}

interface IndexLists {
  SingleIndexes: { IndexSpec: string }[];
  CompositeIndexes: { IndexSpecs: string[] }[];
}

/** The plan of a page, with estimated and measured figures. */
export interface PlanReport {
  plan: string[];
  estimated: { entries: number; documents: number };
  actual: { entries: number; documents: number; rows: number };
  microseconds: { compile: number; plan: number; index: number; load: number; total: number };
}

/** Reads one page of a query. */
export async function queryPage(query: QuerySpec): Promise<QueryPage> {
  const reports = query.reports ? "True" : undefined;
  const answer = await send<{ Documents: unknown[] }>({
    method: "POST",
    path: [...containerPath(query.name), "docs"],
    type: "docs",
    link: containerLink(query.name),
    headers: {
      "content-type": "application/query+json",
      "x-ms-documentdb-isquery": "True",
      "x-ms-documentdb-query-enablecrosspartition": "True",
      // The explorer carries out no query plan, so the server must merge all rows.
      "x-orrery-whole-query": "True",
      "x-ms-max-item-count": String(query.pageSize),
      "x-ms-continuation": query.continuation,
      "x-ms-documentdb-partitionkey": query.key && keyHeader(query.key),
      "x-ms-documentdb-populatequerymetrics": reports,
      "x-ms-cosmos-populateindexmetrics-v2": reports,
      "x-orrery-explain": reports,
    },
    body: { query: query.text, parameters: query.parameters ?? [] },
    signal: query.signal,
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

/** The partitions that answered: the session token has a part for each of them. */
function partitionsOf(token: string | null): string[] {
  const parts = (token ?? "").split(",").map((part) => part.split(":")[0] ?? "");
  return [...new Set(parts.filter((id) => id !== ""))];
}

/** Parses the header with query metrics: names and numbers, separated by semicolons. */
function metricsOf(text: string | null): Record<string, number> | undefined {
  if (!text) return undefined;
  const pairs = text.split(";").map((pair) => pair.split("="));
  return Object.fromEntries(pairs.map(([name, value]) => [name ?? "", Number(value)]));
}

/** Parses a percent-encoded header. A malformed report is left out, because the rows are still valid. */
function encodedJson<T>(text: string | null): T | undefined {
  if (!text) return undefined;
  try {
    return JSON.parse(decodeURIComponent(text)) as T;
  } catch {
    return undefined;
  }
}
