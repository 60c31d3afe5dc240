// The settings of a container that can change, and the settings that were fixed when it was created.

import { useEffect, useState } from "preact/hooks";
import {
  type ContainerDefinition,
  type ContainerName,
  type ContainerState,
  type OfferState,
  readContainer,
  readOffer,
  replaceContainer,
} from "../../protocol/catalogue";
import { loadContainers } from "../../state/catalogue";
import { attempt, notify } from "../../state/notices";
import { Button } from "../../ui/button";
import { Field } from "../../ui/dialog";
import { bytes, integer } from "../../ui/format";
import { OfferForm } from "./offer_form";
import { PolicyForm } from "./policy_form";

const PROGRESS_EVERY_MS = 1_000;

export function Settings({ name, rid }: { name: ContainerName; rid: string }) {
  const [state, setState] = useState<ContainerState | undefined>();
  const [offer, setOffer] = useState<OfferState | undefined>();
  const load = () =>
    attempt(async () => {
      setState(await readContainer(name));
      setOffer(await readOffer(rid));
    });
  useEffect(() => void load(), [rid]);
  const moving = state !== undefined && state.indexProgress < 100;
  useEffect(() => {
    if (!moving) return;
    const timer = setInterval(() => void attempt(async () => setState(await readContainer(name))), PROGRESS_EVERY_MS);
    return () => clearInterval(timer);
  }, [moving]);
  if (!state) return <p class="empty">Reading…</p>;
  const save = (change: Partial<ContainerDefinition>, what: string) =>
    attempt(async () => {
      await replaceContainer(name, { ...state.definition, ...change });
      notify("good", `${what} is saved.`);
      setState(await readContainer(name));
      await loadContainers(name.database);
    });
  return (
    <div class="settings scroll">
      <section class="card" aria-labelledby="throughput">
        <h2 id="throughput">Throughput</h2>
        {offer ? <OfferForm state={offer} onSaved={() => void load()} /> : <p>The container shares the throughput of its database.</p>}
      </section>
      <TimeToLive ttl={state.definition.defaultTtl} onSave={(ttl) => save({ defaultTtl: ttl } as Partial<ContainerDefinition>, "The time to live")} />
      <Fixed state={state} />
      <PolicyForm
        rid={rid}
        policy={state.definition.indexingPolicy}
        progress={state.indexProgress}
        onSave={async (indexingPolicy) => { await save({ indexingPolicy }, "The indexing policy"); }}
      />
    </div>
  );
}

function TimeToLive({ ttl, onSave }: { ttl: number | undefined; onSave: (ttl: number | undefined) => Promise<unknown> }) {
  const modeOf = (ttl: number | undefined) => (ttl === undefined ? "off" : ttl === -1 ? "items" : "on");
  const [mode, setMode] = useState(modeOf(ttl));
  const [seconds, setSeconds] = useState(ttl !== undefined && ttl > 0 ? ttl : 86_400);
  useEffect(() => {
    setMode(modeOf(ttl));
    if (ttl !== undefined && ttl > 0) setSeconds(ttl);
  }, [ttl]);
  const wanted = mode === "off" ? undefined : mode === "items" ? -1 : seconds;
  return (
    <section class="card" aria-labelledby="ttl">
      <h2 id="ttl">Time to live</h2>
      <form class="form" onSubmit={(event) => { event.preventDefault(); void onSave(wanted); }}>
        <div class="field-row">
          <Field label="Items expire">
            <select value={mode} onChange={(event) => setMode(event.currentTarget.value)}>
              <option value="off">never</option>
              <option value="items">when they say so</option>
              <option value="on">after some time</option>
            </select>
          </Field>
          {mode === "on" && (
            <Field label="Seconds">
              <input type="number" min={1} max={2_147_483_647} value={seconds} onInput={(event) => setSeconds(event.currentTarget.valueAsNumber)} />
            </Field>
          )}
        </div>
        <p class="note">The time counts from the last change of an item. Its own <code>ttl</code> goes before.</p>
        <div><Button type="submit" icon="save" kind="primary" disabled={wanted === ttl || Number.isNaN(wanted)}>Save</Button></div>
      </form>
    </section>
  );
}

function Fixed({ state }: { state: ContainerState }) {
  const { definition } = state;
  const conflict = definition.conflictResolutionPolicy;
  const unique = definition.uniqueKeyPolicy?.uniqueKeys ?? [];
  const rows: [string, preact.ComponentChildren][] = [
    ["Items", `${integer(state.items)}, ${bytes(state.documentsKb * 1024)}`],
    ["Partition key", <code>{definition.partitionKey.paths.join(", ")}</code>],
    ["Kind", `${definition.partitionKey.kind}, version ${definition.partitionKey.version ?? 1}`],
    ["Unique keys", unique.length === 0 ? "none" : unique.map(({ paths }) => <code class="badge" key={paths.join()}>{paths.join(", ")}</code>)],
    ["Conflicts", conflict ? `${conflict.mode}${conflict.conflictResolutionPath ? ` by ${conflict.conflictResolutionPath}` : ""}` : "none"],
    ["Computed properties", definition.computedProperties?.map(({ name }) => name).join(", ") || "none"],
    ["Resource id", <code>{definition._rid}</code>],
  ];
  return (
    <section class="card" aria-labelledby="fixed">
      <h2 id="fixed">Set when it was made</h2>
      <dl class="pairs">
        {rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
      </dl>
    </section>
  );
}
