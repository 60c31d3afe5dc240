// Stored procedures, triggers and functions of a container.

import { javascript } from "@codemirror/lang-javascript";
import { useEffect, useState } from "preact/hooks";
import type { ContainerName } from "../../protocol/catalogue";
import type { PartitionKeyDefinition } from "../../protocol/partition_key";
import { type Script, type ScriptKind, createScript, deleteScript, replaceScript } from "../../protocol/scripts";
import { loadScripts, scriptsOf } from "../../state/catalogue";
import { draftOf, keepDraft, useDraft } from "../../state/drafts";
import { attempt, notify } from "../../state/notices";
import { type ScriptName, go } from "../../state/route";
import { Button } from "../../ui/button";
import { DeleteDialog, Field, FormDialog } from "../../ui/dialog";
import { Editor } from "../../ui/editor";
import { Icon } from "../../ui/icon";
import { Runner } from "./runner";
import { TEMPLATES } from "./templates";

const KINDS: { kind: ScriptKind; title: string; one: string }[] = [
  { kind: "sprocs", title: "Stored procedures", one: "stored procedure" },
  { kind: "triggers", title: "Triggers", one: "trigger" },
  { kind: "udfs", title: "Functions", one: "function" },
];

const extensions = [javascript()];

interface Props {
  name: ContainerName;
  definition: PartitionKeyDefinition;
  chosen: ScriptName | undefined;
}

export function Scripts({ name, definition, chosen }: Props) {
  const scripts = scriptsOf(name);
  const [creating, setCreating] = useState<ScriptKind | undefined>();
  const load = () => loadScripts(name);
  const setChosen = (script: ScriptName | undefined) => go({ screen: "scripts", name, ...(script && { script }) });
  useEffect(() => void attempt(load), [JSON.stringify(name)]);
  const script = chosen && scripts?.[chosen.kind].find(({ id }) => id === chosen.id);
  return (
    <div class="scripts">
      <nav class="script-list" aria-label="Scripts">
        {KINDS.map(({ kind, title, one }) => (
          <section key={kind}>
            <header>
              <h3>{title}</h3>
              <Button icon="add" kind="quiet" label={`New ${one}`} onClick={() => setCreating(kind)} />
            </header>
            {scripts?.[kind].map((script) => (
              <button
                type="button"
                key={script.id}
                aria-current={chosen?.kind === kind && chosen.id === script.id ? "true" : undefined}
                onClick={() => setChosen({ kind, id: script.id })}
              >
                <Icon name="scripts" />
                {script.id}
                {draftOf(draftKey(script)) !== undefined && <span class="note end">not saved</span>}
              </button>
            ))}
            {scripts?.[kind].length === 0 && <p class="empty">none</p>}
          </section>
        ))}
      </nav>
      {chosen && script
        ? <ScriptText key={`${chosen.kind}/${chosen.id}`} name={name} definition={definition} kind={chosen.kind} script={script} onChanged={() => void attempt(load)} onDeleted={() => { setChosen(undefined); void attempt(load); }} />
        : <div class="empty-state"><p>Choose a script, or make one. They run on the server, in one transaction, on one logical partition.</p></div>}
      {creating && (
        <CreateScript name={name} kind={creating} onClose={() => setCreating(undefined)} onCreated={async (id) => { await load(); setChosen({ kind: creating, id }); }} />
      )}
    </div>
  );
}

function draftKey(script: Script): string {
  return `script/${script._rid}`;
}

interface TextProps {
  name: ContainerName;
  definition: PartitionKeyDefinition;
  kind: ScriptKind;
  script: Script;
  onChanged: () => void;
  onDeleted: () => void;
}

function ScriptText({ name, definition, kind, script, onChanged, onDeleted }: TextProps) {
  const [body, setBody] = useDraft(draftKey(script), script.body);
  const [deleting, setDeleting] = useState(false);
  const changed = body !== script.body;
  const save = () =>
    void attempt(async () => {
      await replaceScript(name, kind, { ...script, body });
      // Text that was typed during the save stays a draft.
      if (draftOf(draftKey(script)) === body) keepDraft(draftKey(script), undefined);
      notify("good", `${script.id} is saved.`);
      onChanged();
    });
  return (
    <section class="script-text" aria-label={script.id}>
      <div class="toolbar">
        <h3>{script.id}</h3>
        {script.triggerType && <span class="badge">{script.triggerType} {script.triggerOperation}</span>}
        <span class="spacer" />
        {changed && <Button onClick={() => setBody(script.body)}>Undo</Button>}
        <Button icon="save" kind="primary" shortcut="Ctrl S" disabled={!changed} onClick={save}>Save</Button>
        <Button icon="delete" onClick={() => setDeleting(true)}>Delete</Button>
      </div>
      <div class="script-editor">
        <Editor label={`Text of ${script.id}`} value={body} onChange={setBody} onSave={save} extensions={extensions} />
      </div>
      {kind === "sprocs" && (changed
        ? <p class="note">Save it before it is run.</p>
        : <Runner name={name} definition={definition} id={script.id} />)}
      {kind === "udfs" && <p class="note">Queries call it as <code>udf.{script.id}(…)</code>.</p>}
      {kind === "triggers" && <p class="note">A write runs it when it names it in its pre- or post-trigger header.</p>}
      {deleting && (
        <DeleteDialog
          what="script"
          name={script.id}
          warning="The script is deleted. This cannot be undone."
          onDelete={async () => { await deleteScript(name, kind, script.id); keepDraft(draftKey(script), undefined); onDeleted(); }}
          onClose={() => setDeleting(false)}
        />
      )}
    </section>
  );
}

interface CreateProps {
  name: ContainerName;
  kind: ScriptKind;
  onClose: () => void;
  onCreated: (id: string) => Promise<void>;
}

function CreateScript({ name, kind, onClose, onCreated }: CreateProps) {
  const [id, setId] = useState("");
  const [when, setWhen] = useState<"Pre" | "Post">("Pre");
  const [operation, setOperation] = useState<NonNullable<Script["triggerOperation"]>>("All");
  const create = async () => {
    const trigger = kind === "triggers" ? { triggerType: when, triggerOperation: operation } : {};
    await createScript(name, kind, { id, body: TEMPLATES[kind], ...trigger });
    await onCreated(id);
  };
  return (
    <FormDialog title={`New ${KINDS.find((known) => known.kind === kind)?.one ?? "script"}`} action="Create" disabled={id === ""} onClose={onClose} onSubmit={create}>
      <Field label="Name">
        <input type="text" value={id} autofocus autocomplete="off" spellcheck={false} onInput={(event) => setId(event.currentTarget.value)} />
      </Field>
      {kind === "triggers" && (
        <div class="field-row">
          <Field label="Runs">
            <select value={when} onChange={(event) => setWhen(event.currentTarget.value as "Pre" | "Post")}>
              <option value="Pre">before the write</option>
              <option value="Post">after the write</option>
            </select>
          </Field>
          <Field label="On">
            <select value={operation} onChange={(event) => setOperation(event.currentTarget.value as typeof operation)}>
              {["All", "Create", "Replace", "Delete", "Upsert"].map((name) => <option key={name}>{name}</option>)}
            </select>
          </Field>
        </div>
      )}
    </FormDialog>
  );
}
