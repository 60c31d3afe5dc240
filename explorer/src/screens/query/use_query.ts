// A query as it runs: page after page, until it ends or somebody stops it.

import { useRef, useState } from "preact/hooks";
import { explain, isCancelled, ProtocolError, type SqlProblem } from "../../protocol/errors";
import { type QueryAsk, type QueryPage, queryPage } from "../../protocol/query";
import { touched } from "../partitions/touched";

export interface QueryRun {
  rows: unknown[];
  pages: number;
  charge: number;
  milliseconds: number;
  partitions: string[];
  last: QueryPage;
}

export type QueryRequest = Omit<QueryAsk, "continuation" | "signal" | "reports">;

export function useQuery() {
  const [run, setRun] = useState<QueryRun | undefined>();
  const [running, setRunning] = useState(false);
  const [problem, setProblem] = useState<{ text: string; problems: SqlProblem[] } | undefined>();
  const controller = useRef<AbortController | undefined>(undefined);
  const asked = useRef<QueryRequest | undefined>(undefined);

  /** Reads one page, or all that are left. */
  const read = async (from: QueryRun | undefined, all: boolean) => {
    const request = asked.current;
    if (!request) return;
    controller.current?.abort();
    const own = new AbortController();
    controller.current = own;
    setRunning(true);
    setProblem(undefined);
    let state = from;
    try {
      do {
        const continuation = state?.last.continuation;
        const page = await queryPage({ ...request, continuation, signal: own.signal, reports: true });
        state = extended(state, page);
        setRun(state);
        touched.value = { name: request.name, partitions: state.partitions };
      } while (all && state.last.continuation);
    } catch (error) {
      if (!isCancelled(error)) {
        if (!state) setRun(undefined);
        setProblem({ text: explain(error), problems: error instanceof ProtocolError ? error.problems : [] });
      }
    }
    if (controller.current === own) setRunning(false);
  };

  return {
    run,
    running,
    problem,
    start: (request: QueryRequest) => {
      asked.current = request;
      return read(undefined, false);
    },
    more: () => void read(run, false),
    all: () => void read(run, true),
    cancel: () => {
      controller.current?.abort();
      setRunning(false);
    },
    clearProblem: () => setProblem(undefined),
  };
}

function extended(before: QueryRun | undefined, page: QueryPage): QueryRun {
  return {
    rows: before ? [...before.rows, ...page.rows] : page.rows,
    pages: (before?.pages ?? 0) + 1,
    charge: (before?.charge ?? 0) + page.charge,
    milliseconds: (before?.milliseconds ?? 0) + page.milliseconds,
    partitions: [...new Set([...(before?.partitions ?? []), ...page.partitions])],
    last: page,
  };
}
