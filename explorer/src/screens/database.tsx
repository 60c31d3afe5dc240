// One database: its containers, its throughput, its users.

import { useEffect, useState } from "preact/hooks";
import { type OfferState, type Resource, deleteDatabase, readOffer, throughputOf } from "../protocol/catalogue";
import { containers, databases, loadDatabases, offers } from "../state/catalogue";
import { attempt, notify } from "../state/notices";
import { go, href } from "../state/route";
import { Button } from "../ui/button";
import { DeleteDialog } from "../ui/dialog";
import { integer, moment } from "../ui/format";
import { Icon } from "../ui/icon";
import { CreateContainer } from "./create";
import { OfferForm } from "./settings/offer_form";
import { Users } from "./users";

export function Database({ database, part }: { database: string; part: "users" | undefined }) {
  const [creating, setCreating] = useState(false);
  const [deleting, setDeleting] = useState(false);
  useEffect(() => {
    if (part) document.getElementById(part)?.scrollIntoView({ block: "center" });
  }, [part]);
  const resource = databases.value?.find(({ id }) => id === database);
  if (!resource) return <p class="empty page">{databases.value ? "There is no such database." : "Reading…"}</p>;
  const remove = async () => {
    await deleteDatabase(database);
    go({ screen: "overview" });
    notify("good", `Database ${database} was deleted.`);
    await loadDatabases();
  };
  return (
    <div class="page">
      <header class="page-head">
        <div>
          <p class="eyebrow">Database</p>
          <h1>{database}</h1>
        </div>
        <Button icon="delete" onClick={() => setDeleting(true)}>Delete</Button>
        <Button icon="add" kind="primary" onClick={() => setCreating(true)}>New container</Button>
      </header>
      <div class="columns">
        <section class="card" aria-labelledby="containers">
          <h2 id="containers">Containers</h2>
          <Containers database={database} />
        </section>
        <div class="stack">
          <SharedThroughput resource={resource} />
          <section class="card" aria-labelledby="users">
            <h2 id="users">Users</h2>
            <Users database={database} />
          </section>
        </div>
      </div>
      {creating && <CreateContainer database={database} onClose={() => setCreating(false)} />}
      {deleting && (
        <DeleteDialog
          what="database"
          name={database}
          warning="All its containers and all items in them are deleted with it. This cannot be undone."
          onDelete={remove}
          onClose={() => setDeleting(false)}
        />
      )}
    </div>
  );
}

function Containers({ database }: { database: string }) {
  const found = containers.value.get(database) ?? [];
  if (found.length === 0) return <p class="empty">There is no container yet.</p>;
  return (
    <div class="table-room">
      <table class="table">
        <thead>
          <tr><th>Name</th><th>Partition key</th><th class="number">RU/s</th><th>Changed</th></tr>
        </thead>
        <tbody>
          {found.map((container) => {
            const offer = offers.value.find((offer) => offer.offerResourceId === container._rid);
            const throughput = offer && throughputOf(offer);
            return (
              <tr key={container.id}>
                <td>
                  <a href={href({ screen: "items", name: { database, container: container.id } })}>
                    <Icon name="container" /> {container.id}
                  </a>
                </td>
                <td><code>{container.partitionKey.paths.join(", ")}</code></td>
                <td class="number">{throughput && throughput.mode !== "none" ? integer(throughput.value) : "shared"}</td>
                <td>{moment(container._ts)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function SharedThroughput({ resource }: { resource: Resource }) {
  const [state, setState] = useState<OfferState | undefined>();
  const load = () => attempt(async () => setState(await readOffer(resource._rid)));
  useEffect(() => void load(), [resource._rid]);
  if (!state) return null;
  return (
    <section class="card" aria-labelledby="shared">
      <h2 id="shared">Shared throughput</h2>
      <OfferForm state={state} onSaved={() => void load()} />
    </section>
  );
}
