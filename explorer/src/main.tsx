// Starts with the key of this tab, and shows the account or the login screen.

import { render } from "preact";
import { App } from "./app";
import { resume } from "./state/session";
import "./state/theme";
import "./style/base.css";
import "./style/layout.css";
import "./style/parts.css";
import "./style/screens.css";

const root = document.getElementById("app");
if (root) {
  // The page renders before the server has answered.
  render(<App />, root);
  void resume().catch(() => undefined);
}
