// The frame around every screen: bar, tree, screen and messages.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { CommandPalette, openPalette } from "./palette";
import { ContainerFrame } from "./screens/container_frame";
import { Database } from "./screens/database";
import { Login } from "./screens/login";
import { Overview } from "./screens/overview";
import { Requests } from "./screens/requests";
import { loadDatabases } from "./state/catalogue";
import { draftCount, dropDrafts } from "./state/drafts";
import { attempt, dismiss, notices } from "./state/notices";
import { type Route, href, route } from "./state/route";
import { close, config, session } from "./state/session";
import { storeProblem, watchStore } from "./state/store";
import { Tree } from "./tree";
import { Button } from "./ui/button";
import { FormDialog } from "./ui/dialog";
import { plural } from "./ui/format";
import { Icon, Mark } from "./ui/icon";
import { ThemeButton } from "./ui/theme_button";

/** Whether the tree is open. On a narrow screen a button opens it. */
const treeIsOpen = signal(false);

export function App() {
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>
        Skip to content
      </a>
      {session.value ? <Frame /> : <Login />}
      <Notices />
    </>
  );
}

function Frame() {
  const [leaving, setLeaving] = useState(false);
  const leave = () => {
    dropDrafts();
    close();
  };
  useEffect(() => {
    void attempt(loadDatabases);
    const shortcut = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openPalette();
      }
    };
    addEventListener("keydown", shortcut);
    return () => removeEventListener("keydown", shortcut);
  }, []);
  useEffect(watchStore, []);
  useEffect(() => {
    treeIsOpen.value = false;
  }, [route.value]);
  return (
    <div class={treeIsOpen.value ? "frame tree-open" : "frame"}>
      <header class="bar">
        <Button class="tree-toggle" icon="menu" kind="quiet" label="Databases" pressed={treeIsOpen.value} onClick={() => (treeIsOpen.value = !treeIsOpen.value)} />
        <a class="brand" href={href({ screen: "overview" })} aria-label="Orrery, overview">
          <Mark />
          <span>Orrery</span>
        </a>
        <button type="button" class="jump" onClick={openPalette}>
          <Icon name="search" />
          <span>Go to…</span>
          <kbd>Ctrl K</kbd>
        </button>
        <nav class="bar-links" aria-label="Account">
          <BarLink to={{ screen: "overview" }}>Overview</BarLink>
          <BarLink to={{ screen: "requests" }}>Requests</BarLink>
        </nav>
        <ThemeButton />
        <Button icon="leave" kind="quiet" label="Forget the key" onClick={() => (draftCount() > 0 ? setLeaving(true) : leave())} />
      </header>
      <aside class="side" aria-label="Databases">
        <Tree />
        <footer class="side-foot">Orrery {config.value?.version}</footer>
      </aside>
      <button type="button" class="side-shade" aria-label="Close the list of databases" tabIndex={-1} onClick={() => (treeIsOpen.value = false)} />
      <main id="main" tabIndex={-1}>
        {storeProblem.value && <p class="problem" role="alert">{storeProblem.value}</p>}
        <Screen />
      </main>
      <CommandPalette />
      {leaving && (
        <FormDialog title="Forget the key?" action="Forget both" danger onClose={() => setLeaving(false)} onSubmit={async () => leave()}>
          <p>{`${plural(draftCount(), "text")} that ${draftCount() === 1 ? "is" : "are"} not saved will be forgotten with it.`}</p>
        </FormDialog>
      )}
    </div>
  );
}

function BarLink({ to, children }: { to: Route; children: ComponentChildren }) {
  return (
    <a href={href(to)} aria-current={route.value.screen === to.screen ? "page" : undefined}>
      {children}
    </a>
  );
}

function Screen() {
  const at = route.value;
  switch (at.screen) {
    case "overview":
      return <Overview />;
    case "requests":
      return <Requests />;
    case "database":
      return <Database key={at.database} database={at.database} part={at.part} />;
    default:
      return <ContainerFrame key={JSON.stringify(at.name)} name={at.name} screen={at.screen} script={at.script} />;
  }
}

function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map((notice) => (
        <div class={`notice ${notice.kind}`} key={notice.id}>
          <Icon name={notice.kind === "good" ? "tick" : "warning"} />
          <span>{notice.text}</span>
          <Button icon="cancel" kind="quiet" label="Dismiss" onClick={() => dismiss(notice.id)} />
        </div>
      ))}
    </div>
  );
}
