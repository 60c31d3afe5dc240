// Asks for the management key, once for each tab.

import { useState } from "preact/hooks";
import { explain } from "../protocol/errors";
import { Button } from "../ui/button";
import { Field } from "../ui/dialog";
import { Mark } from "../ui/icon";
import { ThemeButton } from "../ui/theme_button";
import { open } from "./operators";

export function Login() {
  const [given, setGiven] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event: Event) => {
    event.preventDefault();
    setProblem("");
    await open(given.trim()).catch((error: unknown) => setProblem(explain(error)));
  };
  return (
    <main id="main" class="login" tabIndex={-1}>
      <div class="login-theme"><ThemeButton /></div>
      <form class="login-card form" onSubmit={(event) => void submit(event)}>
        <div class="login-brand">
          <Mark turning />
          <h1>Regions</h1>
          <p>Operate the account on <b>{location.host}</b></p>
        </div>
        <Field label="Key of operators" hint="The server says at its start what it is, or in which file. It stays in this tab.">
          <input type="password" value={given} autocomplete="off" spellcheck={false} onInput={(event) => setGiven(event.currentTarget.value)} />
        </Field>
        {problem && <p class="problem" role="alert">{problem}</p>}
        <Button type="submit" kind="primary" disabled={given.trim() === ""}>Open</Button>
      </form>
    </main>
  );
}
