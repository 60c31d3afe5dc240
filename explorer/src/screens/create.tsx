// Dialogs for new databases and containers.

import { useState } from "preact/hooks";
import { type Throughput, createContainer, createDatabase } from "../protocol/catalogue";
import { loadContainers, loadDatabases } from "../state/catalogue";
import { notify } from "../state/notices";
import { go } from "../state/route";
import { Field, FormDialog } from "../ui/dialog";

export function CreateDatabase({ onClose }: { onClose: () => void }) {
  const [id, setId] = useState("");
  const [throughput, setThroughput] = useState<Throughput>({ mode: "none" });
  const create = async () => {
    await createDatabase(id, throughput);
    await loadDatabases();
    notify("good", `Database ${id} was created.`);
    go({ screen: "database", database: id });
  };
  return (
    <FormDialog title="New database" action="Create" disabled={id === ""} onClose={onClose} onSubmit={create}>
      <NameField id={id} onChange={setId} />
      <ThroughputFields throughput={throughput} onChange={setThroughput} none="Each container has its own" />
    </FormDialog>
  );
}

export function CreateContainer({ database, onClose }: { database: string; onClose: () => void }) {
  const [id, setId] = useState("");
  const [paths, setPaths] = useState("/id");
  const [unique, setUnique] = useState("");
  const [ttl, setTtl] = useState("");
  const [throughput, setThroughput] = useState<Throughput>({ mode: "manual", value: 400 });
  const create = async () => {
    const keyPaths = list(paths);
    const definition = {
      id,
      partitionKey: { paths: keyPaths, kind: keyPaths.length > 1 ? "MultiHash" : "Hash", version: 2 },
      ...(unique.trim() && {
        uniqueKeyPolicy: { uniqueKeys: unique.split("\n").filter((line) => line.trim()).map((line) => ({ paths: list(line) })) },
      }),
      ...(ttl.trim() && { defaultTtl: Number(ttl) }),
    };
    await createContainer(database, definition, throughput);
    await loadContainers(database);
    notify("good", `Container ${id} was created.`);
    go({ screen: "items", name: { database, container: id } });
  };
  return (
    <FormDialog title={`New container in ${database}`} action="Create" disabled={id === "" || list(paths).length === 0} onClose={onClose} onSubmit={create}>
      <NameField id={id} onChange={setId} />
      <Field label="Partition key" hint="A path such as /tenant; up to three with commas between them make a hierarchical key.">
        <input type="text" value={paths} spellcheck={false} onInput={(event) => setPaths(event.currentTarget.value)} />
      </Field>
      <ThroughputFields throughput={throughput} onChange={setThroughput} none="Of the database" />
      <details>
        <summary>More</summary>
        <Field label="Unique keys" hint="One on each line; paths with commas between them are unique together.">
          <textarea rows={2} value={unique} spellcheck={false} onInput={(event) => setUnique(event.currentTarget.value)} />
        </Field>
        <Field label="Time to live in seconds" hint="Empty: items stay. -1: only items that say so expire.">
          <input type="number" min={-1} value={ttl} onInput={(event) => setTtl(event.currentTarget.value)} />
        </Field>
      </details>
    </FormDialog>
  );
}

function NameField({ id, onChange }: { id: string; onChange: (id: string) => void }) {
  return (
    <Field label="Name">
      <input type="text" value={id} maxLength={255} required autofocus autocomplete="off" spellcheck={false} onInput={(event) => onChange(event.currentTarget.value)} />
    </Field>
  );
}

export function ThroughputFields({ throughput, onChange, none }: {
  throughput: Throughput;
  onChange: (throughput: Throughput) => void;
  /** The label of the choice without throughput. Without a label throughput is required. */
  none?: string;
}) {
  const choose = (mode: string) => {
    if (mode === "none") onChange({ mode: "none" });
    else onChange(mode === "manual" ? { mode: "manual", value: 400 } : { mode: "autoscale", value: 1000 });
  };
  const step = throughput.mode === "autoscale" ? 1000 : 100;
  return (
    <div class="field-row">
      <Field label="Throughput">
        <select value={throughput.mode} onChange={(event) => choose(event.currentTarget.value)}>
          {none && <option value="none">{none}</option>}
          <option value="manual">Manual</option>
          <option value="autoscale">Autoscale</option>
        </select>
      </Field>
      {throughput.mode !== "none" && (
        <Field label={throughput.mode === "manual" ? "RU/s" : "Highest RU/s"}>
          <input
            type="number"
            min={throughput.mode === "autoscale" ? 1000 : 400}
            max={1_000_000}
            step={step}
            value={throughput.value}
            onInput={(event) => onChange({ ...throughput, value: event.currentTarget.valueAsNumber })}
          />
        </Field>
      )}
    </div>
  );
}

function list(text: string): string[] {
  return text.split(",").map((path) => path.trim()).filter((path) => path !== "");
}
