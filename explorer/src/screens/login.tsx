// Asks for the account key, once for each tab.

import { useEffect, useState } from "preact/hooks";
import { explain } from "../protocol/errors";
import { config, open } from "../state/session";
import { Button } from "../ui/button";
import { Field } from "../ui/dialog";
import { Mark } from "../ui/icon";
import { ThemeButton } from "../ui/theme_button";

export function Login() {
  const [key, setKey] = useState("");
  const [shown, setShown] = useState(false);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const offered = config.value?.key ?? null;
  useEffect(() => {
    if (offered) setKey(offered);
  }, [offered]);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await open(keyIn(key));
    } catch (error) {
      setProblem(error instanceof DOMException ? "This is not a key: keys are base64 text." : explain(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main id="main" class="login" tabIndex={-1}>
      <div class="login-theme">
        <ThemeButton />
      </div>
      <form class="login-card form" onSubmit={(event) => void submit(event)}>
        <div class="login-brand">
          <Mark turning />
          <h1>Orrery</h1>
          <p>Explore the databases on <b>{location.host}</b></p>
        </div>
        <Field
          label="Account key or connection string"
          hint={offered ? "This server runs with the well-known key of the emulator." : "It stays in this tab and signs requests here; it is never sent."}
        >
          <span class="with-button">
            <input
              {...({ type: shown ? "text" : "password" } as { type: "text" })}
              value={key}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => setKey(event.currentTarget.value)}
            />
            <Button icon="eye" kind="quiet" label={shown ? "Hide the key" : "Show the key"} pressed={shown} onClick={() => setShown(!shown)} />
          </span>
        </Field>
        {problem && <p class="problem" role="alert">{problem}</p>}
        <Button type="submit" kind="primary" disabled={busy || key.trim() === ""}>Open</Button>
      </form>
    </main>
  );
}

/** The key in a text. People often paste a connection string. */
function keyIn(text: string): string {
  return /AccountKey=([^;]+)/i.exec(text)?.[1] ?? text.trim();
}
