// The indexing policy as text that is checked while it is typed, and how far the index follows it.

import { json, jsonParseLinter } from "@codemirror/lang-json";
import { type Diagnostic, linter } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";
import { useEffect, useState } from "preact/hooks";
import { pretty } from "../../protocol/json";
import { Button } from "../../ui/button";
import { Editor } from "../../ui/editor";
import { checkPolicy } from "./check_policy";

const parseProblems = jsonParseLinter();

const extensions = [json(), linter((view) => [...parseProblems(view), ...policyProblems(view)])];

interface Props {
  policy: unknown;
  progress: number;
  onSave: (policy: unknown) => Promise<void>;
}

export function PolicyForm({ policy, progress, onSave }: Props) {
  const saved = pretty(policy);
  const [text, setText] = useState(saved);
  useEffect(() => setText(saved), [saved]);
  const problems = textProblems(text);
  return (
    <section class="card wide-card" aria-labelledby="policy">
      <h2 id="policy">Indexing policy</h2>
      <div class="progress-line">
        <progress max={100} value={progress} aria-label="Items that follow the policy" />
        <span>{progress >= 100 ? "The index follows the policy." : `The index follows the policy for ${progress}% of the items.`}</span>
      </div>
      <div class="policy-editor">
        <Editor label="Indexing policy" value={text} onChange={setText} extensions={extensions} />
      </div>
      {problems.length > 0 && <p class="problem" role="alert">{problems[0]}</p>}
      <div class="toolbar">
        <Button icon="save" kind="primary" disabled={text === saved || problems.length > 0} onClick={() => void onSave(JSON.parse(text))}>Save</Button>
        <Button disabled={text === saved} onClick={() => setText(saved)}>Undo</Button>
      </div>
    </section>
  );
}

function textProblems(text: string): string[] {
  try {
    return checkPolicy(JSON.parse(text)).map((problem) => problem.text);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

function policyProblems(view: EditorView): Diagnostic[] {
  const text = view.state.doc.toString();
  try {
    return checkPolicy(JSON.parse(text)).map(({ text: message, near }) => {
      const found = near === undefined ? -1 : text.indexOf(near);
      const from = Math.max(found, 0);
      return { from, to: found < 0 ? Math.min(1, text.length) : found + near!.length, severity: "error", message };
    });
  } catch {
    return [];
  }
}
