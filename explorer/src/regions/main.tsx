// The page of operators: an account's regions, and orders to them.

import { render } from "preact";
import { Laboratory } from "./laboratory";
import "../state/theme";
import "../style/base.css";
import "../style/layout.css";
import "../style/parts.css";
import "../style/regions.css";

const place = document.getElementById("app");
if (place) render(<Laboratory />, place);
