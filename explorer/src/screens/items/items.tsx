// The items of a container: a grid beside the open item.

import { useMemo, useState } from "preact/hooks";
import type { ContainerName } from "../../protocol/catalogue";
import { explain } from "../../protocol/errors";
import { deleteItem } from "../../protocol/items";
import { parseJson, pretty } from "../../protocol/json";
import { type Item, type PartitionKeyDefinition, keyOf, segmentsOf } from "../../protocol/partition_key";
import { randomId } from "../../protocol/request";
import { draftOf, keepDraft } from "../../state/drafts";
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

/** The item beside the grid, which may be new. */
interface Open {
  item: Item | undefined;
  initial: string;
  saved: string;
}

const NOTHING: ReadonlySet<number> = new Set();

interface Props {
  name: ContainerName;
  /** The resource id of the container. */
  rid: string;
  definition: PartitionKeyDefinition;
}

export function Items({ name, rid, definition }: Props) {
  const draftKey = `item/${rid}`;
  const [typed, setTyped] = useState("");
  const [filter, setFilter] = useState("");
  const [open, setOpen] = useState(() => restored(draftOf(draftKey)));
  const [dirty, setDirty] = useState(open !== undefined);
  const [marked, setMarked] = useState<ReadonlySet<number>>(NOTHING);
  const [dialog, setDialog] = useState<"upload" | "delete" | { leave: Open | undefined } | undefined>();
  const list = useItems(name, filter);
  const container = useMemo(() => ({ name, definition }), [name, definition]);
  const columns = useMemo(() => columnsOf(list.items, definition), [list.items.length > 0 && list.items, definition]);

  const show = (next: Open | undefined) => {
    if (dirty) setDialog({ leave: next });
    else setOpen(next);
  };
  const change = (text: string) => {
    if (!open) return;
    setDirty(text !== open.saved);
    keepDraft(draftKey, text === open.saved ? undefined : `${itemLine(open.item)}\n${text}`);
  };
  const replaceOpen = (next: Open | undefined) => {
    setDirty(false);
    keepDraft(draftKey, undefined);
    setOpen(next);
  };
  /** Reads the rows again. An item with unsaved changes stays open. */
  const forgetRows = () => {
    setMarked(NOTHING);
    if (!dirty) setOpen(undefined);
  };
  const reload = () => {
    forgetRows();
    list.reload();
    forgetShape(name);
  };
  const apply = (event: Event) => {
    event.preventDefault();
    forgetRows();
    if (filter === typed) list.reload();
    setFilter(typed);
  };
  const item = open?.item;
  const at = useMemo(() => (item ? list.items.findIndex((row) => row["_rid"] === item["_rid"]) : -1), [item, list.items]);
  const index = at < 0 ? undefined : at;
  const chosen = () => [...marked].flatMap((at) => list.items[at] ?? []);
  const downloadMarked = () => {
    download(`${name.container}.json`, "application/json", pretty(chosen()));
    const rest = list.more ? " There are more on the server, which are not read yet: scroll to the end, or ask for them on the query screen." : "";
    notify("good", `${plural(marked.size, "item")} downloaded.${rest}`);
  };
  const removeMarked = async () => {
    const gone = await removeAll(container, [...marked], list.items);
    list.remove(gone);
    setMarked(NOTHING);
    if (index !== undefined && gone.has(index)) replaceOpen(undefined);
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
          <Button icon="add" onClick={() => show(fresh(pretty(template(definition))))}>New</Button>
          <Button icon="upload" onClick={() => setDialog("upload")}>Upload</Button>
          {marked.size > 0 && <Button icon="download" label={`Download ${plural(marked.size, "item")}`} onClick={downloadMarked} />}
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
            onOpen={(index) => show(opened(list.items[index]))}
            marked={marked}
            onMark={setMarked}
            onDelete={() => marked.size > 0 && setDialog("delete")}
            onNearEnd={list.loadMore}
          />
        )}
        {list.items.length === 0 && !list.loading && !list.more && !list.problem && (
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
          key={item ? String(item["_rid"]) : "new"}
          container={container}
          item={item}
          initial={open.initial}
          saved={open.saved}
          onText={change}
          onSaved={(saved) => {
            // The open item may be missing in the rows, which a filter selects.
            if (!item || index !== undefined) list.put(index, saved);
            setMarked(NOTHING);
            replaceOpen(opened(saved));
          }}
          onDeleted={() => { if (index !== undefined) list.remove(new Set([index])); setMarked(NOTHING); replaceOpen(undefined); }}
          onDuplicate={(text) => show(fresh(text))}
          onClose={() => show(undefined)}
        />
      )}
      {dialog === "upload" && <Upload container={container} onClose={(changed) => { setDialog(undefined); if (changed) reload(); }} />}
      {dialog === "delete" && (
        <FormDialog title="Delete items" action={`Delete ${integer(marked.size)}`} danger onClose={() => setDialog(undefined)} onSubmit={removeMarked}>
          <p>{plural(marked.size, "item")} will be deleted. This cannot be undone.{list.more && " Items that are not read yet stay."}</p>
        </FormDialog>
      )}
      {typeof dialog === "object" && (
        <FormDialog
          title="Leave the changes behind?"
          action="Leave them"
          danger
          onClose={() => setDialog(undefined)}
          onSubmit={async () => replaceOpen(dialog.leave)}
        >
          <p>The item has changes that are not saved.</p>
        </FormDialog>
      )}
    </div>
  );
}

function opened(item: Item | undefined): Open | undefined {
  return item && { item, initial: pretty(item), saved: pretty(item) };
}

function fresh(text: string): Open {
  return { item: undefined, initial: text, saved: text };
}

/** The first line of a draft: the item as it was read, or an empty line for a new item. */
function itemLine(item: Item | undefined): string {
  return item ? JSON.stringify(item) : "";
}

function restored(draft: string | undefined): Open | undefined {
  if (draft === undefined) return undefined;
  const end = draft.indexOf("\n");
  const initial = draft.slice(end + 1);
  if (end === 0) return { item: undefined, initial, saved: "" };
  const item = parseJson(draft.slice(0, end)) as Item;
  return { item, initial, saved: pretty(item) };
}

/** A new item, with the properties of the partition key. */
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

/** Deletes items one after the other, and reports which are deleted. */
async function removeAll(container: { name: ContainerName; definition: PartitionKeyDefinition }, indexes: number[], items: Item[]) {
  const gone = new Set<number>();
  const problems: string[] = [];
  for (const index of indexes) {
    const item = items[index];
    if (!item) continue;
    try {
      await deleteItem(container, String(item["id"]), keyOf(item, container.definition));
      gone.add(index);
    } catch (error) {
      problems.push(explain(error));
    }
  }
  if (gone.size > 0) notify("good", `${plural(gone.size, "item")} deleted.`);
  if (problems.length > 0) notify("bad", `${plural(problems.length, "item")} could not be deleted: ${problems[0]}`);
  return gone;
}
