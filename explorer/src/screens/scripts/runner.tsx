// Runs a stored procedure, and shows its result and its log.

import { useRef, useState } from "preact/hooks";
import type { ContainerName } from "../../protocol/catalogue";
import { explain, isCancelled } from "../../protocol/errors";
import { pretty } from "../../protocol/json";
import { type PartitionKeyDefinition, parseKey } from "../../protocol/partition_key";
import { type ScriptRun, runProcedure } from "../../protocol/scripts";
import { Button } from "../../ui/button";
import { Field } from "../../ui/dialog";
import { milliseconds, units } from "../../ui/format";
import { describeMistake, jsonMistake } from "../../ui/json_mistake";

interface Props {
  name: ContainerName;
  definition: PartitionKeyDefinition;
  id: string;
}

export function Runner({ name, definition, id }: Props) {
  const [key, setKey] = useState("");
  const [given, setGiven] = useState("[]");
  const [run, setRun] = useState<ScriptRun | undefined>();
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const controller = useRef<AbortController | undefined>(undefined);
  const start = async (event: Event) => {
    event.preventDefault();
    setRun(undefined);
    const text = given.trim() === "" ? "[]" : given;
    const mistake = jsonMistake(text);
    setProblem(mistake ? describeMistake(text, mistake) : "");
    if (mistake) return;
    setBusy(true);
    controller.current = new AbortController();
    try {
      const values: unknown = JSON.parse(text);
      if (!Array.isArray(values)) throw new Error("arguments are a JSON array");
      setRun(await runProcedure(name, id, parseKey(key, definition), values, controller.current.signal));
    } catch (error) {
      if (!isCancelled(error)) setProblem(explain(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="runner form" onSubmit={(event) => void start(event)} aria-label={`Run ${id}`}>
      <div class="field-row">
        <Field label={`Partition key (${definition.paths.join(", ")})`}>
          <input type="text" value={key} spellcheck={false} onInput={(event) => setKey(event.currentTarget.value)} />
        </Field>
        <Field label="Arguments, as a JSON array">
          <input type="text" value={given} spellcheck={false} onInput={(event) => setGiven(event.currentTarget.value)} />
        </Field>
        {busy
          ? <Button icon="cancel" kind="danger" onClick={() => controller.current?.abort()}>Cancel</Button>
          : <Button icon="play" kind="primary" type="submit">Run</Button>}
      </div>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {run && (
        <div class="run-result" role="status">
          <p class="note">{units(run.charge)} RU · {milliseconds(run.milliseconds)}</p>
          <h3>Result</h3>
          <pre tabIndex={0} aria-label="Result">{run.result === undefined ? "nothing" : pretty(run.result)}</pre>
          <h3>Console</h3>
          <pre tabIndex={0} aria-label="Console">{run.log || "silent"}</pre>
        </div>
      )}
    </form>
  );
}
