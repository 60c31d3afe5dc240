// Two versions of a text, with their differences marked.

import { json } from "@codemirror/lang-json";
import { MergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { editorTheme } from "./editor_theme";

export function Difference({ theirs, mine }: { theirs: string; mine: string }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const side = (doc: string, label: string) => ({
      doc,
      extensions: [
        lineNumbers(),
        json(),
        EditorState.readOnly.of(true),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label }),
        editorTheme,
      ],
    });
    const view = new MergeView({
      a: side(theirs, "The version on the server"),
      b: side(mine, "Your version"),
      root,
      parent: root,
      collapseUnchanged: { margin: 4 },
    });
    return () => view.destroy();
  }, [theirs, mine]);
  return <div class="difference" ref={host} />;
}
