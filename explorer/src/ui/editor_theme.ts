// The colours of editors. They are CSS variables, so that a change of the theme needs no new editor.

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--text)", backgroundColor: "var(--field)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { caretColor: "var(--accent)", padding: "10px 0" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "var(--field)", color: "var(--faint)", border: "none", paddingLeft: "6px" },
  ".cm-activeLine": { backgroundColor: "var(--line)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--selection)", outline: "1px solid var(--border)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--raised)", border: "1px solid var(--border)", color: "var(--muted)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--border)",
    borderRadius: "8px",
    boxShadow: "var(--shadow)",
    overflow: "hidden",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "15em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 10px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--selection)", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", marginLeft: "1em" },
  ".cm-completionMatchedText": { textDecoration: "none", color: "var(--accent)", fontWeight: "600" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad) 1.5px",
    textUnderlineOffset: "4px",
    textDecorationSkipInk: "none",
  },
  ".cm-diagnostic": { padding: "6px 10px" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--bad)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-panels input, .cm-panels button": { color: "inherit" },
  ".cm-placeholder": { color: "var(--muted)" },
  ".cm-changedLine": { backgroundColor: "var(--changed) !important" },
  ".cm-changedText": { background: "var(--changed-text) !important" },
  ".cm-deletedChunk": { backgroundColor: "var(--deleted) !important" },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [tags.propertyName, tags.attributeName], color: "var(--code-property)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-number)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.standard(tags.name)], color: "var(--code-function)" },
  { tag: [tags.special(tags.variableName)], color: "var(--code-parameter)" },
  { tag: [tags.comment], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.invalid], color: "var(--bad)" },
]);

export const editorTheme: Extension = [theme, syntaxHighlighting(colours)];
