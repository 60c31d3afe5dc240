// The throughput of a container or a database.

import { useEffect, useState } from "preact/hooks";
import { type OfferState, replaceOffer, throughputOf } from "../../protocol/catalogue";
import { loadDatabases } from "../../state/catalogue";
import { attempt, notify } from "../../state/notices";
import { Button } from "../../ui/button";
import { integer } from "../../ui/format";
import { ThroughputFields } from "../create";

export function OfferForm({ state, onSaved }: { state: OfferState; onSaved: () => void }) {
  const saved = throughputOf(state.offer);
  const [throughput, setThroughput] = useState(saved);
  const [busy, setBusy] = useState(false);
  useEffect(() => setThroughput(throughputOf(state.offer)), [state]);
  const changed = JSON.stringify(saved) !== JSON.stringify(throughput);
  const save = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    await attempt(async () => {
      await replaceOffer(state.offer, throughput);
      notify("good", "The throughput is changed.");
      await loadDatabases();
    });
    setBusy(false);
    onSaved();
  };
  return (
    <form class="form" onSubmit={(event) => void save(event)}>
      <ThroughputFields throughput={throughput} onChange={setThroughput} />
      <p class="note">
        {throughput.mode === "autoscale" && "It scales between a tenth of this and this. "}
        At least {integer(state.minimum)} RU/s.
      </p>
      <div><Button type="submit" icon="save" kind="primary" disabled={!changed || busy}>Save</Button></div>
    </form>
  );
}
