// Stored procedures, triggers and functions.

import { type ContainerName, type Resource, containerLink, containerPath, readFeed } from "./catalogue";
import { keyHeader } from "./partition_key";
import { send } from "./request";

export type ScriptKind = "sprocs" | "triggers" | "udfs";

export interface Script extends Resource {
  body: string;
  triggerType?: "Pre" | "Post";
  triggerOperation?: "All" | "Create" | "Replace" | "Delete" | "Upsert" | "Update";
}

const FEED: Record<ScriptKind, string> = {
  sprocs: "StoredProcedures",
  triggers: "Triggers",
  udfs: "UserDefinedFunctions",
};

export function listScripts(name: ContainerName, kind: ScriptKind): Promise<Script[]> {
  return readFeed({ path: [...containerPath(name), kind], type: kind, link: containerLink(name) }, FEED[kind]);
}

export async function createScript(name: ContainerName, kind: ScriptKind, script: Partial<Script>): Promise<void> {
  const path = [...containerPath(name), kind];
  await send({ method: "POST", path, type: kind, link: containerLink(name), body: script });
}

export async function replaceScript(name: ContainerName, kind: ScriptKind, script: Partial<Script>): Promise<void> {
  await send({ method: "PUT", ...one(name, kind, script.id ?? ""), body: script });
}

export async function deleteScript(name: ContainerName, kind: ScriptKind, id: string): Promise<void> {
  await send({ method: "DELETE", ...one(name, kind, id) });
}

export interface ScriptRun {
  result: unknown;
  log: string;
  charge: number;
  milliseconds: number;
}

export async function runProcedure(
  name: ContainerName,
  id: string,
  key: unknown[],
  argumentsOfRun: unknown[],
  signal?: AbortSignal,
): Promise<ScriptRun> {
  const answer = await send<unknown>({
    method: "POST",
    ...one(name, "sprocs", id),
    headers: {
      "x-ms-documentdb-partitionkey": keyHeader(key),
      "x-ms-documentdb-script-enable-logging": "True",
    },
    body: argumentsOfRun,
    signal,
    // A refused run may have written some items, so a person decides whether to run the script again.
    once: true,
  });
  return {
    result: answer.body,
    log: decodeURIComponent(answer.headers.get("x-ms-documentdb-script-log-results") ?? ""),
    charge: answer.charge,
    milliseconds: answer.milliseconds,
  };
}

function one(name: ContainerName, kind: ScriptKind, id: string) {
  return { path: [...containerPath(name), kind, id], type: kind, link: `${containerLink(name)}/${kind}/${id}` };
}
