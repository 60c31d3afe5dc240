// Buttons with a word, an icon, or both. An icon alone still has its word for screen readers.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon, type IconName } from "./icon";

interface Props {
  icon?: IconName;
  children?: ComponentChildren;
  /** Required without a text. */
  label?: string;
  kind?: "primary" | "danger" | "quiet";
  onClick?: (event: MouseEvent) => void;
  disabled?: boolean;
  pressed?: boolean;
  type?: "button" | "submit";
  shortcut?: string;
  class?: string;
}

export function Button({ icon, children, label, kind, onClick, disabled, pressed, type = "button", shortcut, class: extra }: Props) {
  const title = [label, shortcut && `(${shortcut})`].filter(Boolean).join(" ");
  return (
    <button
      type={type}
      class={["button", kind, children ? "" : "only-icon", extra].filter(Boolean).join(" ")}
      onClick={onClick}
      disabled={disabled}
      aria-pressed={pressed}
      aria-label={children ? undefined : label}
      title={title || undefined}
    >
      {icon && <Icon name={icon} />}
      {children && <span>{children}</span>}
    </button>
  );
}

const CONFIRMED_MS = 1_500;

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await writeClipboard(text);
    setCopied(true);
    setTimeout(() => setCopied(false), CONFIRMED_MS);
  };
  return <Button icon={copied ? "tick" : "copy"} kind="quiet" label={copied ? "Copied" : label} onClick={() => void copy()} />;
}

/** Pages over plain HTTP from another machine have no clipboard API. */
export async function writeClipboard(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
