// Dialogs with the `dialog` element of the browser, which keeps the focus inside and restores it.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { explain } from "../protocol/errors";
import { Button } from "./button";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}

export function Dialog({ title, onClose, children, wide }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={element} class={wide ? "dialog wide" : "dialog"} aria-labelledby={heading} onClose={onClose}>
      <header>
        <h2 id={heading}>{title}</h2>
        <Button icon="cancel" kind="quiet" label="Close" onClick={onClose} />
      </header>
      {children}
    </dialog>
  );
}

interface FormProps {
  title: string;
  action: string;
  danger?: boolean;
  disabled?: boolean;
  onClose: () => void;
  /** Closes the dialog after a success, and shows the error after a failure. */
  onSubmit: () => Promise<void>;
  children: ComponentChildren;
}

export function FormDialog({ title, action, danger, disabled, onClose, onSubmit, children }: FormProps) {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await onSubmit();
      onClose();
    } catch (error) {
      setProblem(explain(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={(event) => void submit(event)}>
        {children}
        {problem && <p class="problem" role="alert">{problem}</p>}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind={danger ? "danger" : "primary"} disabled={busy || disabled === true}>{action}</Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** A dialog for actions that cannot be undone: the person must type the name. */
export function DeleteDialog({ what, name, warning, onDelete, onClose }: {
  what: string;
  name: string;
  warning: string;
  onDelete: () => Promise<void>;
  onClose: () => void;
}) {
  const [typed, setTyped] = useState("");
  return (
    <FormDialog title={`Delete ${what}`} action="Delete" danger disabled={typed !== name} onClose={onClose} onSubmit={onDelete}>
      <p>{warning}</p>
      <Field label={`Type “${name}” to confirm`}>
        <input type="text" value={typed} autocomplete="off" spellcheck={false} onInput={(event) => setTyped(event.currentTarget.value)} autofocus />
      </Field>
    </FormDialog>
  );
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span class="label">{label}</span>
      {children}
      {hint && <span class="hint">{hint}</span>}
    </label>
  );
}
