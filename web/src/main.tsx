// The page begins here: the document is in the page itself, whether it was served or is a file.
import { render } from "preact";
import { App } from "./app";
import { readDocument } from "./document";
import "./style/base.css";
import "./style/frame.css";
import "./style/matrix.css";
import "./style/machine.css";
import "./style/attention.css";
import "./style/writing.css";
import "./style/whatif.css";
import "./style/positions.css";
import "./style/picture.css";
import "./style/tour.css";

const place = document.getElementById("app");
if (place) render(<App first={readDocument()} />, place);
