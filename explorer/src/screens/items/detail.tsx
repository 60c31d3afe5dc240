// One item as text: edit, save, duplicate, delete. Before a save would overwrite the change of another
// client, the screen shows both versions.

import { json } from "@codemirror/lang-json";
import { useEffect, useState } from "preact/hooks";
import { ProtocolError, explain } from "../../protocol/errors";
import { type ContainerKey, createItem, deleteItem, readItem, replaceItem } from "../../protocol/items";
import { parseJson, pretty } from "../../protocol/json";
import { type Item, keyOf } from "../../protocol/partition_key";
import { notify } from "../../state/notices";
import { Button, CopyButton } from "../../ui/button";
import { FormDialog } from "../../ui/dialog";
import { Editor } from "../../ui/editor";
import { units } from "../../ui/format";
import { describeMistake, jsonLinter, jsonMistake } from "../../ui/json_mistake";
import { Conflict } from "./conflict";

export const SYSTEM = ["_rid", "_self", "_etag", "_attachments", "_ts"];

interface Props {
  container: ContainerKey;
  /** Absent for a new item. */
  item: Item | undefined;
  /** The text at the start of editing. It differs from the saved text if a draft exists. */
  initial: string;
  saved: string;
  onSaved: (item: Item) => void;
  onDeleted: () => void;
  onDuplicate: (text: string) => void;
  onClose: () => void;
  onText: (text: string) => void;
}

const extensions = [json(), jsonLinter];

export function Detail({ container, item, initial, saved, onSaved, onDeleted, onDuplicate, onClose, onText }: Props) {
  const [text, setText] = useState(initial);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [theirs, setTheirs] = useState<Item | undefined>();
  const parsed = parse(text);
  const dirty = text !== saved || item === undefined;
  useEffect(() => setText(initial), [initial, saved]);
  const change = (next: string) => {
    setText(next);
    onText(next);
  };

  const id = String(item?.["id"] ?? "");
  const key = item ? keyOf(item, container.definition) : [];
  const save = async (etag: string | undefined) => {
    if (!("item" in parsed) || busy) return;
    setBusy(true);
    setProblem("");
    try {
      const answer = item
        ? await replaceItem(container, id, key, text, etag)
        : await createItem(container, text, parsed.item);
      setTheirs(undefined);
      notify("good", `Saved for ${units(answer.charge)} RU.`);
      onSaved(answer.body);
    } catch (error) {
      const changed = item && error instanceof ProtocolError && error.status === 412;
      if (changed) setTheirs((await readItem(container, id, key)).body);
      else setProblem(explain(error));
    } finally {
      setBusy(false);
    }
  };
  const saveOwn = () => void save(item && String(item["_etag"]));
  const remove = async () => {
    await deleteItem(container, id, key);
    notify("good", `Item ${id} was deleted.`);
    onDeleted();
  };
  const duplicate = () => {
    if (!("item" in parsed)) return;
    onDuplicate(pretty({ ...withoutSystem(parsed.item), id: `${String(parsed.item["id"])}-copy` }));
  };
  return (
    <section class="detail" aria-label={item ? `Item ${id}` : "New item"}>
      <div class="toolbar">
        <Button icon="save" kind="primary" shortcut="Ctrl S" disabled={!dirty || busy || "problem" in parsed} onClick={saveOwn}>
          {item ? "Save" : "Create"}
        </Button>
        {item && <Button icon="duplicate" onClick={duplicate} disabled={"problem" in parsed}>Duplicate</Button>}
        {item && <Button icon="delete" onClick={() => setDeleting(true)}>Delete</Button>}
        <span class="spacer" />
        {dirty && item && <span class="note">changed</span>}
        <CopyButton text={text} label="Copy the item" />
        <Button icon="cancel" kind="quiet" label="Close the item" onClick={onClose} />
      </div>
      <Editor label={item ? `Item ${id}` : "New item"} value={text} onChange={change} extensions={extensions} onSave={saveOwn} />
      {("problem" in parsed || problem) && (
        <p class="problem" role="alert">{"problem" in parsed ? parsed.problem : problem}</p>
      )}
      {deleting && (
        <FormDialog title="Delete item" action="Delete" danger onClose={() => setDeleting(false)} onSubmit={remove}>
          <p>Item <b>{id}</b> is deleted. This cannot be undone.</p>
        </FormDialog>
      )}
      {theirs && (
        <Conflict
          theirs={pretty(withoutSystem(theirs))}
          mine={"item" in parsed ? pretty(withoutSystem(parsed.item)) : text}
          onOverwrite={() => void save(undefined)}
          onTake={() => { onSaved(theirs); setTheirs(undefined); }}
          onClose={() => setTheirs(undefined)}
        />
      )}
    </section>
  );
}

type Parsed = { item: Item } | { problem: string };

function parse(text: string): Parsed {
  try {
    const value = parseJson(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return { problem: "An item is a JSON object." };
    const item = value as Item;
    if (typeof item["id"] !== "string" || item["id"] === "") return { problem: "An item needs an id, which is text." };
    return { item };
  } catch (error) {
    const mistake = jsonMistake(text);
    return { problem: mistake ? describeMistake(text, mistake) : explain(error) };
  }
}

export function withoutSystem(item: Item): Item {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !SYSTEM.includes(name)));
}
