// A text editor in a shadow root, because there its styles are constructed; the content security policy
// refuses styles that a script writes into the page.

import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, codeFolding, foldGutter, foldKeymap, indentOnInput, indentUnit } from "@codemirror/language";
import { lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension, Prec } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { useLayoutEffect, useRef } from "preact/hooks";
import { editorTheme } from "./editor_theme";

interface Props {
  value: string;
  label: string;
  onChange?: (value: string) => void;
  /** Read when the editor is created. */
  extensions?: Extension;
  readOnly?: boolean;
  onSubmit?: () => void;
  onSave?: () => void;
  onReady?: (view: EditorView) => void;
}

export function Editor({ value, label, onChange, extensions = [], readOnly = false, onSubmit, onSave, onReady }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const writable = useRef(new Compartment());
  const handlers = useRef({ onChange, onSubmit, onSave });
  handlers.current = { onChange, onSubmit, onSave };
  /** The last value that the owner knows. While the owner passes this value back, the text of the editor stays. */
  const told = useRef(value);

  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const run = (name: "onSubmit" | "onSave") => () => {
      handlers.current[name]?.();
      return handlers.current[name] !== undefined;
    };
    const created = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: value,
        extensions: [
          Prec.highest(keymap.of([
            { key: "Mod-Enter", run: run("onSubmit") },
            { key: "Mod-s", run: run("onSave"), preventDefault: true },
          ])),
          ordinary,
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          writable.current.of(EditorState.readOnly.of(readOnly)),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            told.current = update.state.doc.toString();
            handlers.current.onChange?.(told.current);
          }),
          extensions,
        ],
      }),
    });
    view.current = created;
    onReady?.(created);
    return () => created.destroy();
  }, []);

  useLayoutEffect(() => {
    const current = view.current;
    if (!current || told.current === value) return;
    told.current = value;
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } });
  }, [value]);
  useLayoutEffect(() => {
    view.current?.dispatch({ effects: writable.current.reconfigure(EditorState.readOnly.of(readOnly)) });
  }, [readOnly]);

  return <div class="editor" ref={host} />;
}

const ordinary: Extension = [
  lineNumbers(),
  foldGutter(),
  codeFolding(),
  history(),
  drawSelection(),
  indentOnInput(),
  indentUnit.of("  "),
  bracketMatching(),
  closeBrackets(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  EditorView.lineWrapping,
  editorTheme,
  keymap.of([
    ...closeBracketsKeymap,
    ...completionKeymap,
    ...searchKeymap,
    ...historyKeymap,
    ...foldKeymap,
    ...lintKeymap,
    ...defaultKeymap,
    // Escape and then Tab leaves the editor, for people who use no mouse.
    indentWithTab,
  ]),
];
