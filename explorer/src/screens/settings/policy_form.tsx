// The indexing policy as text with immediate checks, and the progress of the index.

import { json } from "@codemirror/lang-json";
import { type Diagnostic, linter } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";
import { pretty } from "../../protocol/json";
import { useDraft } from "../../state/drafts";
import { Button } from "../../ui/button";
import { Editor } from "../../ui/editor";
import { describeMistake, jsonDiagnostics, jsonMistake } from "../../ui/json_mistake";
import { checkPolicy } from "./check_policy";

const extensions = [json(), linter((view) => [...jsonDiagnostics(view), ...policyProblems(view)])];

interface Props {
  /** The resource id of the container. */
  rid: string;
  policy: unknown;
  progress: number;
  onSave: (policy: unknown) => Promise<void>;
}

export function PolicyForm({ rid, policy, progress, onSave }: Props) {
  const saved = pretty(policy);
  const [text, setText] = useDraft(`policy/${rid}`, saved);
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
  const mistake = jsonMistake(text);
  if (mistake) return [describeMistake(text, mistake)];
  return checkPolicy(JSON.parse(text)).map((problem) => problem.text);
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
