// The operators' page: the regions of an account, and orders to them.

import { render } from "preact";
import { Laboratory } from "./laboratory";
import "../state/theme";
import "../style/base.css";
import "../style/layout.css";
import "../style/parts.css";
import "../style/regions.css";

const root = document.getElementById("app");
if (root) render(<Laboratory />, root);
