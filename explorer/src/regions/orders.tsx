// The orders for a region and for a link.

import { useState } from "preact/hooks";
import { Button } from "../ui/button";
import { Field, FormDialog } from "../ui/dialog";
import { EVERY, type Link, type LinkOrder, type Region, type Report, bringUp, failover, orderLink, takeDown } from "./operators";
import { behind, lacksOf, stateOf, troubleOf } from "./words";

/** Sends an order and shows the new report. */
export type Carry = (order: () => Promise<Report>) => Promise<void>;

export function RegionOrders({ region, report, carry, onForce }: { region: Region; report: Report; carry: Carry; onForce: () => void }) {
  const isWriter = region.state === "write";
  return (
    <section class="card" aria-label={region.name}>
      <h2>{region.name}</h2>
      <dl class="pairs">
        <div><dt>State</dt><dd>{stateOf(region, report)}{region.cause ? `: ${region.cause}` : ""}</dd></div>
        <div><dt>Behind</dt><dd>{behind(region, report)}</dd></div>
        <div><dt>Records applied</dt><dd>{region.applied ?? "unknown"}</dd></div>
        <div><dt>False progress</dt><dd>{region.falseProgress ?? "unknown"}</dd></div>
        {region.endpoint && <div><dt>Explorer</dt><dd><a href={`${region.endpoint}_explorer/`} target="_blank" rel="noreferrer">{region.endpoint}</a></dd></div>}
      </dl>
      <div class="toolbar">
        {region.state === "down"
          ? <Button icon="play" onClick={() => void carry(() => bringUp(region.name))}>Bring up</Button>
          : <Button icon="cancel" onClick={() => void carry(() => takeDown(region.name))}>Take down</Button>}
        {!isWriter && <Button icon="account" onClick={() => void carry(() => failover({ to: region.name }))}>{report.multiWrite ? "Make it the hub" : "Make it the write region"}</Button>}
        {!isWriter && <Button icon="warning" onClick={onForce}>By force…</Button>}
      </div>
    </section>
  );
}

/** A forced failover, without the present write region. */
export function ForceDialog({ to, report, onDone, onClose }: { to: string; report: Report; onDone: (report: Report) => void; onClose: () => void }) {
  const writer = report.writeRegion;
  const [offline, setOffline] = useState(false);
  const [loses, setLoses] = useState(false);
  const submit = async () => {
    onDone(await failover({ to, forced: true, offline: offline && writer ? [writer] : [], acceptsLoss: loses }));
  };
  return (
    <FormDialog title={`${to} takes the writes by force`} action="Take them" danger onClose={onClose} onSubmit={submit}>
      <p>{writer ?? "The write region"} is not asked. What only it has acknowledged is kept there as false progress when it comes back, not in the history.</p>
      {writer && (
        <label class="tick-field">
          <input type="checkbox" checked={offline} onChange={(event) => setOffline(event.currentTarget.checked)} />
          <span>{writer} is lost: it leaves the account until it is added again</span>
        </label>
      )}
      <label class="tick-field">
        <input type="checkbox" checked={loses} onChange={(event) => setLoses(event.currentTarget.checked)} />
        <span>Accept loss: take them even if the other regions cannot vote on it</span>
      </label>
    </FormDialog>
  );
}

export function LinkOrders({ link, carry }: { link: Link; carry: Carry }) {
  const [both, setBoth] = useState(false);
  const [millis, setMillis] = useState(String(link.delayMillis || 80));
  const [records, setRecords] = useState("1");
  const tell = (order: LinkOrder) => carry(async () => {
    const report = await orderLink(link.from, link.to, order);
    return both ? orderLink(link.to, link.from, order) : report;
  });
  const isHeld = link.paused || link.cut;
  return (
    <section class="card" aria-label={`${link.from} to ${link.to}`}>
      <h2>{link.from} → {link.to}</h2>
      <dl class="pairs">
        <div><dt>Link</dt><dd>{troubleOf(link) || "open"}</dd></div>
        <div><dt>{link.to} lacks</dt><dd>{lacksOf(link) || `${link.from} writes nothing`}</dd></div>
      </dl>
      <div class="toolbar">
        {isHeld
          ? <Button icon="play" onClick={() => void tell({ order: "resume" })}>Resume</Button>
          : <Button icon="pause" onClick={() => void tell({ order: "pause" })}>Pause</Button>}
        {!link.cut && <Button icon="cancel" onClick={() => void tell({ order: "cut" })}>Cut</Button>}
        <label class="tick-field">
          <input type="checkbox" checked={both} onChange={(event) => setBoth(event.currentTarget.checked)} />
          <span>and back</span>
        </label>
      </div>
      <form class="field-row" onSubmit={(event) => { event.preventDefault(); void tell({ order: "delay", millis: Number(millis) }); }}>
        <Field label="Delay, milliseconds one way">
          <input type="number" min="0" max="60000" value={millis} onInput={(event) => setMillis(event.currentTarget.value)} />
        </Field>
        <Button type="submit">Delay</Button>
      </form>
      {link.paused && (
        <form class="field-row" onSubmit={(event) => { event.preventDefault(); void tell({ order: "step", records: Number(records) }); }}>
          <Field label="Records to let through">
            <input type="number" min="1" value={records} onInput={(event) => setRecords(event.currentTarget.value)} />
          </Field>
          <Button type="submit">Step</Button>
        </form>
      )}
    </section>
  );
}

/** Orders for all links: a delay of every link, and back to normal. */
export function EveryLink({ carry }: { carry: Carry }) {
  const [millis, setMillis] = useState("40");
  const normal = async () => {
    await orderLink(EVERY, EVERY, { order: "resume" });
    return orderLink(EVERY, EVERY, { order: "delay", millis: 0 });
  };
  return (
    <form class="toolbar" onSubmit={(event) => { event.preventDefault(); void carry(() => orderLink(EVERY, EVERY, { order: "delay", millis: Number(millis) })); }}>
      <label class="inline-field">
        <span>Every link, ms</span>
        <input type="number" min="0" max="60000" value={millis} onInput={(event) => setMillis(event.currentTarget.value)} />
      </label>
      <Button type="submit">Delay all</Button>
      <Button icon="refresh" onClick={() => void carry(normal)}>Back to normal</Button>
    </form>
  );
}
