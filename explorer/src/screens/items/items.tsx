// The items of a container: a grid beside the item that is open.

import { useMemo, useState } from "preact/hooks";
import type { ContainerName } from "../../protocol/catalogue";
import { explain } from "../../protocol/errors";
import { deleteItem } from "../../protocol/items";
import { pretty } from "../../protocol/json";
import { type Item, type PartitionKeyDefinition, keyOf, segmentsOf } from "../../protocol/partition_key";
import { randomId } from "../../protocol/request";
import { notify } from "../../state/notices";
import { forgetShape } from "../../sql/sample";
import { Button } from "../../ui/button";
import { DataGrid } from "../../ui/data_grid";
import { FormDialog } from "../../ui/dialog";
import { download, integer, plural, units } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { columnsOf } from "./columns";
import { Detail } from "./detail";
import { Upload } from "./upload";
import { useItems } from "./use_items";

/** What is open: a row, or the text of an item to be. */
type Open = { index: number } | { draft: string };

const NOTHING: ReadonlySet<number> = new Set();

export function Items({ name, definition }: { name: ContainerName; definition: PartitionKeyDefinition }) {
  const [typed, setTyped] = useState("");
  const [filter, setFilter] = useState("");
  const [open, setOpen] = useState<Open | undefined>();
  const [dirty, setDirty] = useState(false);
  const [marked, setMarked] = useState<ReadonlySet<number>>(NOTHING);
  const [dialog, setDialog] = useState<"upload" | "delete" | { leave: Open | undefined } | undefined>();
  const list = useItems(name, filter);
  const place = useMemo(() => ({ name, definition }), [name, definition]);
  const columns = useMemo(() => columnsOf(list.items, definition), [list.items.length > 0 && list.items, definition]);

  const show = (next: Open | undefined) => {
    if (dirty) setDialog({ leave: next });
    else setOpen(next);
  };
  const reload = () => {
    setMarked(NOTHING);
    setOpen(undefined);
    list.reload();
    forgetShape(name);
  };
  const apply = (event: Event) => {
    event.preventDefault();
    setMarked(NOTHING);
    setOpen(undefined);
    if (filter === typed) list.reload();
    setFilter(typed);
  };
  const index = open && "index" in open ? open.index : undefined;
  const item = index === undefined ? undefined : list.items[index];
  const draft = open && "draft" in open ? open.draft : item ? pretty(item) : "";
  const chosen = () => [...marked].flatMap((at) => list.items[at] ?? []);
  const removeMarked = async () => {
    const gone = await removeAll(place, [...marked], list.items);
    list.remove(gone);
    setMarked(NOTHING);
    setOpen(undefined);
  };
  return (
    <div class={open ? "items with-detail" : "items"}>
      <div class="items-list">
        <form class="toolbar" onSubmit={apply} role="search">
          <span class="filter">
            <Icon name="search" />
            <input
              type="text"
              value={typed}
              placeholder="WHERE c.price < 20"
              aria-label="Filter: a condition over c"
              spellcheck={false}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </span>
          <Button type="submit">Apply</Button>
          <Button icon="add" onClick={() => show({ draft: pretty(template(definition)) })}>New</Button>
          <Button icon="upload" onClick={() => setDialog("upload")}>Upload</Button>
          {marked.size > 0 && <Button icon="download" label={`Download ${plural(marked.size, "item")}`} onClick={() => download(`${name.container}.json`, "application/json", pretty(chosen()))} />}
          {marked.size > 0 && <Button icon="delete" kind="danger" onClick={() => setDialog("delete")}>{`Delete ${integer(marked.size)}`}</Button>}
          <Button icon="refresh" kind="quiet" label="Read again" onClick={reload} />
        </form>
        {list.problem && <p class="problem" role="alert">{list.problem}</p>}
        {list.items.length > 0 && (
          <DataGrid
            label="Items"
            columns={columns}
            rows={list.items}
            current={index}
            onOpen={(index) => show({ index })}
            marked={marked}
            onMark={setMarked}
            onDelete={() => marked.size > 0 && setDialog("delete")}
            onNearEnd={list.loadMore}
          />
        )}
        {list.items.length === 0 && !list.loading && !list.problem && (
          <div class="empty-state">
            <p>{filter ? "No item fits the filter." : "There is no item yet."}</p>
          </div>
        )}
        <p class="status-line" role="status">
          {plural(list.items.length, "item")}{list.more ? " so far" : ""} · {units(list.charge)} RU
          {list.loading && " · reading…"}
        </p>
      </div>
      {open && (
        <Detail
          key={index ?? "new"}
          place={place}
          item={item}
          draft={draft}
          onDirty={setDirty}
          onSaved={(saved) => { setDirty(false); list.put(index, saved); setMarked(NOTHING); setOpen({ index: index ?? 0 }); }}
          onDeleted={() => { setDirty(false); if (index !== undefined) list.remove(new Set([index])); setMarked(NOTHING); setOpen(undefined); }}
          onDuplicate={(draft) => show({ draft })}
          onClose={() => show(undefined)}
        />
      )}
      {dialog === "upload" && <Upload place={place} onClose={(changed) => { setDialog(undefined); if (changed) reload(); }} />}
      {dialog === "delete" && (
        <FormDialog title="Delete items" action={`Delete ${integer(marked.size)}`} danger onClose={() => setDialog(undefined)} onSubmit={removeMarked}>
          <p>{plural(marked.size, "item")} will be deleted. This cannot be undone.</p>
        </FormDialog>
      )}
      {typeof dialog === "object" && (
        <FormDialog
          title="Leave the changes behind?"
          action="Leave them"
          danger
          onClose={() => setDialog(undefined)}
          onSubmit={async () => { setDirty(false); setOpen(dialog.leave); }}
        >
          <p>The item has changes that are not saved.</p>
        </FormDialog>
      )}
    </div>
  );
}

/** A new item already has its key's property. */
function template(definition: PartitionKeyDefinition): Item {
  const item: Item = { id: randomId() };
  for (const path of definition.paths) {
    const segments = segmentsOf(path);
    let at = item;
    segments.forEach((segment, index) => {
      if (index < segments.length - 1) at = (at[segment] ??= {}) as Item;
      else at[segment] ??= "";
    });
  }
  return item;
}

/** Deletes one after the other and says which are gone. */
async function removeAll(place: { name: ContainerName; definition: PartitionKeyDefinition }, indexes: number[], items: Item[]) {
  const gone = new Set<number>();
  const problems: string[] = [];
  for (const index of indexes) {
    const item = items[index];
    if (!item) continue;
    try {
      await deleteItem(place, String(item["id"]), keyOf(item, place.definition));
      gone.add(index);
    } catch (error) {
      problems.push(explain(error));
    }
  }
  if (gone.size > 0) notify("good", `${plural(gone.size, "item")} deleted.`);
  if (problems.length > 0) notify("bad", `${plural(problems.length, "item")} could not be deleted: ${problems[0]}`);
  return gone;
}
