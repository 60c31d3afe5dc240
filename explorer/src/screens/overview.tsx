// The overview of the account: its endpoint, code to connect to it, and its databases.

import { useState } from "preact/hooks";
import { containers, databases, loadDatabases, offers } from "../state/catalogue";
import { throughputOf } from "../protocol/catalogue";
import { serverRoot } from "../protocol/request";
import { attempt, notify } from "../state/notices";
import { go, href } from "../state/route";
import { config, session } from "../state/session";
import { Button, CopyButton } from "../ui/button";
import { integer } from "../ui/format";
import { Icon } from "../ui/icon";
import { Tabs } from "../ui/tabs";
import { CreateDatabase } from "./create";
import { createSample } from "./overview/sample";
import { SNIPPETS } from "./overview/snippets";

const HIDDEN = "••••••••••••••••••••••••";

export function Overview() {
  const [creating, setCreating] = useState(false);
  const current = session.value;
  if (!current) return null;
  const endpoint = new URL(serverRoot(), location.href).href;
  const { account, key } = current;
  const writable = new Set(account.writableLocations.map((region) => region.name));
  const containerCount = [...containers.value.values()].reduce((sum, found) => sum + found.length, 0);
  const provisioned = offers.value.reduce((sum, offer) => {
    const throughput = throughputOf(offer);
    return sum + (throughput.mode === "none" ? 0 : throughput.value);
  }, 0);
  return (
    <div class="page overview">
      <header class="page-head">
        <div>
          <p class="eyebrow">Account</p>
          <h1>{account.id}</h1>
        </div>
        <Button icon="add" kind="primary" onClick={() => setCreating(true)}>New database</Button>
      </header>

      <section class="facts" aria-label="Facts">
        <Fact title="Consistency" value={account.userConsistencyPolicy.defaultConsistencyLevel} />
        <Fact title="Regions" value={account.readableLocations.map((region) => region.name).join(", ")} note={`writes: ${[...writable].join(", ")}`} />
        <Fact title="Contents" value={`${integer(databases.value?.length ?? 0)} databases`} note={`${integer(containerCount)} containers`} />
        <Fact title="Throughput" value={`${integer(provisioned)} RU/s`} note="provisioned in all" />
        <Fact title="Version" value={config.value?.version ?? ""} note="Orrery" />
      </section>

      <div class="columns">
        <section class="card" aria-labelledby="connect">
          <h2 id="connect">Connect</h2>
          <Connection endpoint={endpoint} accountKey={key} />
          <Snippets endpoint={endpoint} accountKey={key} />
        </section>
        <section class="card" aria-labelledby="contents">
          <h2 id="contents">Databases</h2>
          <Databases />
        </section>
      </div>
      {creating && <CreateDatabase onClose={() => setCreating(false)} />}
    </div>
  );
}

function Fact({ title, value, note }: { title: string; value: string; note?: string }) {
  return (
    <div class="fact">
      <span class="fact-title">{title}</span>
      <span class="fact-value">{value}</span>
      {note && <span class="fact-note">{note}</span>}
    </div>
  );
}

function Connection({ endpoint, accountKey }: { endpoint: string; accountKey: string }) {
  const [shown, setShown] = useState(false);
  const text = (key: string) => `AccountEndpoint=${endpoint};AccountKey=${key};`;
  const rows = [
    { title: "Endpoint", shown: endpoint, copied: endpoint },
    { title: "Key", shown: shown ? accountKey : HIDDEN, copied: accountKey },
    { title: "Connection string", shown: text(shown ? accountKey : HIDDEN), copied: text(accountKey) },
  ];
  return (
    <dl class="connection">
      {rows.map((row) => (
        <div key={row.title}>
          <dt>{row.title}</dt>
          <dd>
            <code>{row.shown}</code>
            {row.title === "Key" && (
              <Button icon="eye" kind="quiet" label={shown ? "Hide the key" : "Show the key"} pressed={shown} onClick={() => setShown(!shown)} />
            )}
            <CopyButton text={row.copied} label={`Copy the ${row.title.toLowerCase()}`} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Snippets({ endpoint, accountKey }: { endpoint: string; accountKey: string }) {
  const [language, setLanguage] = useState("Python");
  const snippet = SNIPPETS.find((snippet) => snippet.language === language) ?? SNIPPETS[0]!;
  const code = (key: string) => snippet.code(endpoint, key);
  const note = snippet.note?.(endpoint);
  return (
    <Tabs
      label="Language"
      tabs={SNIPPETS.map(({ language }) => ({ name: language, title: language }))}
      chosen={language}
      onChoose={setLanguage}
      aside={<CopyButton text={code(accountKey)} label="Copy the program" />}
    >
      <p class="install"><code>{snippet.install}</code></p>
      {note && <p class="note">{note}</p>}
      <pre class="snippet" tabIndex={0} aria-label={`${language} program`}>{code("<key>")}</pre>
    </Tabs>
  );
}

function Databases() {
  const [busy, setBusy] = useState(false);
  const sample = async () => {
    setBusy(true);
    const name = await attempt(createSample);
    await attempt(loadDatabases);
    setBusy(false);
    if (name) {
      notify("good", "The sample is there.");
      go({ screen: "query", name });
    }
  };
  if (databases.value === undefined) return <p class="empty">Reading…</p>;
  if (databases.value.length === 0) {
    return (
      <div class="empty-state">
        <p>Nothing is here yet. Create a database, or begin with a sample: the bodies of the solar system.</p>
        <Button icon="add" onClick={() => void sample()} disabled={busy}>Create the sample</Button>
      </div>
    );
  }
  return (
    <ul class="database-list">
      {databases.value.map((database) => (
        <li key={database.id}>
          <a href={href({ screen: "database", database: database.id })}>
            <Icon name="database" />
            <b>{database.id}</b>
          </a>
          <ul>
            {(containers.value.get(database.id) ?? []).map((container) => {
              const offer = offers.value.find((offer) => offer.offerResourceId === container._rid);
              const throughput = offer && throughputOf(offer);
              return (
                <li key={container.id}>
                  <a href={href({ screen: "items", name: { database: database.id, container: container.id } })}>
                    <Icon name="container" />
                    {container.id}
                    <span class="note">{container.partitionKey.paths.join(", ")}</span>
                    {throughput && throughput.mode !== "none" && <span class="note end">{integer(throughput.value)} RU/s</span>}
                  </a>
                </li>
              );
            })}
          </ul>
        </li>
      ))}
    </ul>
  );
}
