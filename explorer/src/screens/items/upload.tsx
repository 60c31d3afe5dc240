// Uploads items from files: an array, one object, or one object on each line. An uploaded item replaces an
// item of the same id.

import { useRef, useState } from "preact/hooks";
import { explain, isCancelled } from "../../protocol/errors";
import { type ContainerKey, upsertItem } from "../../protocol/items";
import { parseJson } from "../../protocol/json";
import type { Item } from "../../protocol/partition_key";
import { randomId } from "../../protocol/request";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { integer, plural, units } from "../../ui/format";

const AT_ONCE = 8;
const PROBLEMS_SHOWN = 50;

interface Progress {
  total: number;
  done: number;
  charge: number;
  problems: string[];
  running: boolean;
}

export function Upload({ container, onClose }: { container: ContainerKey; onClose: (changed: boolean) => void }) {
  const [progress, setProgress] = useState<Progress | undefined>();
  const [problem, setProblem] = useState("");
  const running = useRef<AbortController | undefined>(undefined);
  const start = async (files: FileList | null) => {
    if (!files || files.length === 0) return;
    setProblem("");
    try {
      const texts = await Promise.all(Array.from(files, (file) => file.text()));
      const items = texts.flatMap(itemsIn);
      running.current = new AbortController();
      await uploadAll(container, items, running.current.signal, setProgress);
    } catch (error) {
      setProblem(explain(error));
    }
  };
  const close = () => {
    running.current?.abort();
    onClose(progress !== undefined);
  };
  return (
    <Dialog title="Upload items" onClose={close}>
      <div class="form">
        <label class="drop">
          <input type="file" accept=".json,.jsonl,.ndjson,application/json" multiple disabled={progress?.running} onChange={(event) => void start(event.currentTarget.files)} />
          <span>JSON files with an array of items, one item, or an item on each line. Items without an id get one; items that exist are replaced.</span>
        </label>
        {problem && <p class="problem" role="alert">{problem}</p>}
        {progress && (
          <div role="status">
            <progress max={progress.total} value={progress.done} aria-label="Items uploaded" />
            <p>
              {integer(progress.done)} of {plural(progress.total, "item")}, {units(progress.charge)} RU
              {progress.problems.length > 0 && `, ${plural(progress.problems.length, "failure")}`}
            </p>
          </div>
        )}
        {progress && progress.problems.length > 0 && (
          <ul class="problem-list">
            {progress.problems.slice(0, PROBLEMS_SHOWN).map((problem, index) => <li key={index}>{problem}</li>)}
          </ul>
        )}
        <footer>
          <Button kind={progress && !progress.running ? "primary" : undefined} onClick={close}>
            {progress?.running ? "Stop" : "Close"}
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}

function itemsIn(text: string): Item[] {
  const values = parseAny(text);
  return values.map((value, index) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new Error(`element ${index + 1} is not an object`);
    }
    return { id: randomId(), ...value } as Item;
  });
}

function parseAny(text: string): unknown[] {
  try {
    const value = parseJson(text);
    return Array.isArray(value) ? value : [value];
  } catch (error) {
    const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
    if (lines.length < 2) throw error;
    return lines.map((line, index) => {
      try {
        return parseJson(line);
      } catch {
        throw new Error(`line ${index + 1} is not JSON, and neither is the whole file`);
      }
    });
  }
}

async function uploadAll(container: ContainerKey, items: Item[], signal: AbortSignal, tell: (progress: Progress) => void): Promise<void> {
  const progress: Progress = { total: items.length, done: 0, charge: 0, problems: [], running: true };
  const waiting = items.values();
  const worker = async () => {
    for (const item of waiting) {
      if (signal.aborted) return;
      try {
        progress.charge += (await upsertItem(container, item, signal)).charge;
      } catch (error) {
        if (isCancelled(error)) return;
        progress.problems.push(`${String(item["id"])}: ${explain(error)}`);
      }
      progress.done++;
      tell({ ...progress });
    }
  };
  tell({ ...progress });
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  tell({ ...progress, running: false });
}
