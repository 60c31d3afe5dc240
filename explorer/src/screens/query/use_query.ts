// A running query: page after page, until its end or a cancellation.

import { useRef, useState } from "preact/hooks";
import { explain, isCancelled, ProtocolError, type SqlProblem } from "../../protocol/errors";
import { type QuerySpec, type QueryPage, queryPage } from "../../protocol/query";
import { touched } from "../partitions/touched";

/** The pages of a query that were read so far, with the sums of their figures. */
export interface QueryRun {
  rows: unknown[];
  pages: number;
  charge: number;
  milliseconds: number;
  partitions: string[];
  last: QueryPage;
}

export type QueryRequest = Omit<QuerySpec, "continuation" | "signal" | "reports">;

/** The state of one query, and functions that start, continue and cancel it. */
export function useQuery() {
  const [run, setRun] = useState<QueryRun | undefined>();
  const [running, setRunning] = useState(false);
  const [problem, setProblem] = useState<{ text: string; problems: SqlProblem[] } | undefined>();
  const controller = useRef<AbortController | undefined>(undefined);
  const submitted = useRef<QueryRequest | undefined>(undefined);

  /** Reads one page, or all remaining pages. Resolves with the rows read so far. */
  const read = async (from: QueryRun | undefined, all: boolean): Promise<QueryRun | undefined> => {
    const request = submitted.current;
    if (!request) return from;
    // A new query cancels the running one, whose rows nobody needs.
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
    // A later query may be running by now, and only that query may end its state.
    if (controller.current === own) setRunning(false);
    return state;
  };

  return {
    run,
    running,
    problem,
    start: (request: QueryRequest) => {
      submitted.current = request;
      return read(undefined, false);
    },
    more: () => void read(run, false),
    all: () => read(run, true),
    cancel: () => {
      controller.current?.abort();
      setRunning(false);
    },
    clearProblem: () => setProblem(undefined),
  };
}

/** Adds a page to a run. A new object, so that the screen renders it. */
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
