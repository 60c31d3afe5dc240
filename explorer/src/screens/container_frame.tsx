// The heading and the tabs of a container. Each tab is a screen.

import { useState } from "preact/hooks";
import { type ContainerName, deleteContainer } from "../protocol/catalogue";
import { databases, definitionOf, loadContainers, loadDatabases } from "../state/catalogue";
import { notify } from "../state/notices";
import { type ContainerScreen, type ScriptName, go, href } from "../state/route";
import { Button } from "../ui/button";
import { DeleteDialog } from "../ui/dialog";
import type { IconName } from "../ui/icon";
import { Tabs } from "../ui/tabs";
import { Items } from "./items/items";
import { Partitions } from "./partitions/partitions";
import { Query } from "./query/query";
import { Scripts } from "./scripts/scripts";
import { Settings } from "./settings/settings";

const TABS: { name: ContainerScreen; title: string; icon: IconName }[] = [
  { name: "items", title: "Items", icon: "items" },
  { name: "query", title: "Query", icon: "query" },
  { name: "scripts", title: "Scripts", icon: "scripts" },
  { name: "partitions", title: "Partitions", icon: "partitions" },
  { name: "settings", title: "Settings", icon: "settings" },
];

interface Props {
  name: ContainerName;
  screen: ContainerScreen;
  script: ScriptName | undefined;
}

export function ContainerFrame({ name, screen, script }: Props) {
  const [deleting, setDeleting] = useState(false);
  const definition = definitionOf(name);
  if (!definition) {
    return <p class="empty page">{databases.value ? "There is no such container." : "Reading…"}</p>;
  }
  const screens = {
    items: <Items name={name} rid={definition._rid} definition={definition.partitionKey} />,
    query: <Query name={name} definition={definition.partitionKey} />,
    scripts: <Scripts name={name} definition={definition.partitionKey} chosen={script} />,
    partitions: <Partitions name={name} />,
    settings: <Settings name={name} rid={definition._rid} />,
  };
  const remove = async () => {
    await deleteContainer(name);
    go({ screen: "database", database: name.database });
    notify("good", `Container ${name.container} was deleted.`);
    await loadDatabases();
    await loadContainers(name.database);
  };
  return (
    <div class="page container-page">
      <header class="page-head compact">
        <h1>
          <a href={href({ screen: "database", database: name.database })}>{name.database}</a>
          <span aria-hidden="true"> › </span>
          {name.container}
        </h1>
        <span class="badge" title="Partition key">{definition.partitionKey.paths.join(", ")}</span>
        <Button icon="delete" kind="quiet" label="Delete the container" onClick={() => setDeleting(true)} />
      </header>
      <Tabs label="Screens of the container" tabs={TABS} chosen={screen} onChoose={(screen) => go({ screen, name })}>
        {screens[screen]}
      </Tabs>
      {deleting && (
        <DeleteDialog
          what="container"
          name={name.container}
          warning="All items and scripts in it are deleted with it. This cannot be undone."
          onDelete={remove}
          onClose={() => setDeleting(false)}
        />
      )}
    </div>
  );
}
