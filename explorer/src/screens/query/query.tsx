// The query screen: the text above, the rows below.

import { autocompletion } from "@codemirror/autocomplete";
import { setDiagnostics } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ContainerName } from "../../protocol/catalogue";
import { type PartitionKeyDefinition, looseJson, parseKey } from "../../protocol/partition_key";
import { draftOf, keepDraft } from "../../state/drafts";
import { completions } from "../../sql/completion";
import { sql } from "../../sql/language";
import { diagnostics } from "../../sql/problems";
import { type Shape, shapeOf } from "../../sql/sample";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Editor } from "../../ui/editor";
import { plural, units } from "../../ui/format";
import { type Past, forget, history, remember } from "./history";
import { Results } from "./results";
import { useQuery } from "./use_query";

const FIRST = "SELECT * FROM c";
const PAGE_SIZES = [100, 1000, 5000];

export function Query({ name, definition }: { name: ContainerName; definition: PartitionKeyDefinition }) {
  const draftKey = `query/${JSON.stringify(name)}`;
  const [text, setText] = useState(draftOf(draftKey) ?? FIRST);
  const [pageSize, setPageSize] = useState(PAGE_SIZES[0]!);
  const [keyText, setKeyText] = useState("");
  const [values, setValues] = useState<Record<string, string>>({});
  const [showsHistory, setShowsHistory] = useState(false);
  const editor = useRef<EditorView | undefined>(undefined);
  const shape = useRef<Shape | undefined>(undefined);
  const query = useQuery();
  const parameters = useMemo(() => parameterNames(text), [text]);

  useEffect(() => {
    shapeOf(name).then((found) => (shape.current = found), () => undefined);
  }, [draftKey]);
  useEffect(() => {
    const view = editor.current;
    if (!view) return;
    const doc = view.state.doc.toString();
    view.dispatch(setDiagnostics(view.state, diagnostics(doc, query.problem?.problems ?? [])));
  }, [query.problem]);

  const change = (next: string) => {
    keepDraft(draftKey, next);
    setText(next);
    if (query.problem) query.clearProblem();
  };
  const start = async () => {
    const submitted = draftOf(draftKey) ?? text;
    await query.start({
      name,
      text: submitted,
      parameters: parameterNames(submitted).map((name) => ({ name, value: looseJson(values[name] ?? "null") })),
      key: keyText.trim() === "" ? undefined : parseKey(keyText, definition),
      pageSize,
    });
  };
  const run = query.run;
  useEffect(() => {
    if (run?.pages === 1) remember(name, { text, at: Date.now(), rows: run.rows.length, charge: run.charge });
  }, [run?.pages === 1 && run]);

  const extensions = useMemo(
    () => [sql(), autocompletion({ override: [completions(() => shape.current)], activateOnTyping: true, icons: false })],
    [],
  );
  return (
    <div class="query">
      <div class="query-text">
        <div class="toolbar">
          {query.running
            ? <Button icon="cancel" kind="danger" onClick={query.cancel}>Cancel</Button>
            : <Button icon="play" kind="primary" shortcut="Ctrl Enter" onClick={() => void start()}>Run</Button>}
          <Button icon="history" onClick={() => setShowsHistory(true)}>History</Button>
          <span class="spacer" />
          <label class="inline-field">
            <span>Partition key</span>
            <input type="text" value={keyText} placeholder="all" spellcheck={false} onInput={(event) => setKeyText(event.currentTarget.value)} />
          </label>
          <label class="inline-field">
            <span>Page</span>
            <select value={String(pageSize)} onChange={(event) => setPageSize(Number(event.currentTarget.value))}>
              {PAGE_SIZES.map((size) => <option key={size} value={String(size)}>{size}</option>)}
            </select>
          </label>
        </div>
        <div class="query-editor">
          <Editor
            label="Query"
            value={text}
            onChange={change}
            onSubmit={() => void start()}
            extensions={extensions}
            onReady={(view) => { editor.current = view; }}
          />
        </div>
        {parameters.length > 0 && (
          <div class="parameters">
            {parameters.map((parameter) => (
              <label class="inline-field" key={parameter}>
                <code>{parameter}</code>
                <input
                  type="text"
                  value={values[parameter] ?? ""}
                  placeholder="JSON or text"
                  onInput={(event) => setValues({ ...values, [parameter]: event.currentTarget.value })}
                />
              </label>
            ))}
          </div>
        )}
        {query.problem && <p class="problem" role="alert">{query.problem.text}</p>}
      </div>
      <div class="query-results">
        {run
          ? <Results run={run} running={query.running} fileName={name.container} onMore={query.more} onAll={query.all} onCancel={query.cancel} />
          : <div class="empty-state"><p>Rows appear here. <kbd>Ctrl</kbd> <kbd>Enter</kbd> runs the query.</p></div>}
      </div>
      {showsHistory && (
        <History name={name} onClose={() => setShowsHistory(false)} onChoose={(past) => { change(past.text); setShowsHistory(false); }} />
      )}
    </div>
  );
}

function History({ name, onChoose, onClose }: { name: ContainerName; onChoose: (past: Past) => void; onClose: () => void }) {
  const [all, setAll] = useState(() => history(name));
  return (
    <Dialog title="Queries that were run here" onClose={onClose}>
      {all.length === 0 && <p class="empty">None yet.</p>}
      <ul class="history">
        {all.map((past) => (
          <li key={past.at}>
            <button type="button" onClick={() => onChoose(past)}>
              <code>{past.text}</code>
              <span class="note">{new Date(past.at).toLocaleString()} · {plural(past.rows, "row")} · {units(past.charge)} RU</span>
            </button>
          </li>
        ))}
      </ul>
      {all.length > 0 && (
        <footer><Button icon="delete" onClick={() => { forget(name); setAll([]); }}>Forget them</Button></footer>
      )}
    </Dialog>
  );
}

function parameterNames(text: string): string[] {
  const withoutStrings = text.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/g, "");
  return [...new Set(withoutStrings.match(/@[\w$]+/g) ?? [])];
}
