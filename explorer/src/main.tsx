// Begins with the key of this tab, and shows the account or asks for a key.

import { render } from "preact";
import { App } from "./app";
import { resume } from "./state/session";
import "./state/theme";
import "./style/base.css";
import "./style/layout.css";
import "./style/parts.css";
import "./style/screens.css";

const place = document.getElementById("app");
if (place) {
  // The page is painted before the server has answered.
  render(<App />, place);
  void resume().catch(() => undefined);
}
