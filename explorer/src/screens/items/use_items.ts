// The items of a container, as far as the person has scrolled.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ContainerName } from "../../protocol/catalogue";
import { explain, isCancelled } from "../../protocol/errors";
import type { Item } from "../../protocol/partition_key";
import { queryPage } from "../../protocol/query";

const PAGE_ITEMS = 100;

export interface ItemList {
  items: Item[];
  charge: number;
  /** Whether the server has more items. */
  more: boolean;
  loading: boolean;
  problem: string;
  loadMore: () => void;
  reload: () => void;
  /** Shows a changed item without reading all items again. */
  put: (index: number | undefined, item: Item) => void;
  remove: (gone: ReadonlySet<number>) => void;
}

/** The items read so far, and the position after them. */
interface Progress {
  items: Item[];
  charge: number;
  continuation: string | undefined;
  more: boolean;
}

const START: Progress = { items: [], charge: 0, continuation: undefined, more: true };

/** `filter` is the text of a query after `WHERE` or `ORDER BY`, or empty. */
export function useItems(name: ContainerName, filter: string): ItemList {
  const [progress, setProgress] = useState<Progress>(START);
  const [loading, setLoading] = useState(false);
  const [problem, setProblem] = useState("");
  const [round, setRound] = useState(0);
  const running = useRef<AbortController | undefined>(undefined);

  const load = async (from: Progress) => {
    // Two loads at once would append the same page twice.
    running.current?.abort();
    const controller = new AbortController();
    running.current = controller;
    setLoading(true);
    try {
      const page = await queryPage({
        name,
        text: `SELECT * FROM c ${clause(filter)}`,
        pageSize: PAGE_ITEMS,
        continuation: from.continuation,
        signal: controller.signal,
      });
      setProgress({
        items: [...from.items, ...(page.rows as Item[])],
        charge: from.charge + page.charge,
        continuation: page.continuation,
        more: page.continuation !== undefined,
      });
      setProblem("");
    } catch (error) {
      if (isCancelled(error)) return;
      setProblem(explain(error));
      // Without `more` the list does not repeat the failed request with every scroll.
      setProgress({ ...from, more: false });
    }
    if (running.current === controller) {
      running.current = undefined;
      setLoading(false);
    }
  };

  useEffect(() => {
    setProgress(START);
    void load(START);
    return () => running.current?.abort();
  }, [name.database, name.container, filter, round]);
  useEffect(() => {
    // Without a row the list cannot scroll: a page may be empty, and shown rows may have been deleted.
    if (progress !== START && progress.items.length === 0 && progress.more && !running.current) void load(progress);
  }, [progress]);

  return {
    items: progress.items,
    charge: progress.charge,
    more: progress.more,
    loading,
    problem,
    loadMore: () => {
      if (!running.current && progress.more) void load(progress);
    },
    reload: () => setRound(round + 1),
    put: (index, item) =>
      setProgress((now) => ({
        ...now,
        items: index === undefined ? [item, ...now.items] : now.items.map((old, at) => (at === index ? item : old)),
      })),
    remove: (gone) => setProgress((now) => ({ ...now, items: now.items.filter((_, at) => !gone.has(at)) })),
  };
}

/** The filter as a clause. A person may type the keyword or leave it out. */
function clause(filter: string): string {
  const text = filter.trim();
  return text === "" || /^(where|order\s+by)\b/i.test(text) ? text : `WHERE ${text}`;
}
