// The page as a widget of a notebook, after anywidget's model: in a shadow root, so that neither's style reaches the
// other, and with Python at the other end of messages. Without a Python that answers it shows what was saved.
import { render } from "preact";
import { answerBy } from "./api";
import { App } from "./app";
import type { Document } from "./document";
import { liveIn, darkQuery, type Place } from "./place";

interface Model {
  get: (name: "document") => string;
  send: (message: unknown) => void;
  on: (event: "msg:custom" | "change:document", heard: (message: never) => void) => void;
  off: (event: "msg:custom" | "change:document", heard: (message: never) => void) => void;
}

interface Answer {
  id: number;
  /** JSON, as the server would answer it. */
  answer?: string;
  error?: string;
}

const REM = 16; // pixels; a notebook's own letters may be of any size
const FIRST = ["base", "frame"]; // the sheets that the others build upon
// Notebooks move their cells by transforms, in which nothing is fixed to the window, and let outputs scroll, so that nothing
// sticks to it either: the page has a height of its own, and what would stay in sight stays in sight of that.
const FRAME = `
.in-shadow { max-height: 88vh; overflow: auto; border: 1px solid var(--line); border-radius: 8px; }
.tour-card { position: sticky; bottom: 10px; margin: 0 10px 10px; width: auto; max-width: 440px; }
.with-inspector + .tour-card { bottom: 10px; top: auto; }
.inspector { max-height: calc(88vh - 3rem); }
.layout:has(+ .tour-card) { padding-bottom: 1rem; }
.with-inspector:has(+ .tour-card) .inspector { max-height: calc(88vh - 340px); }
@media (max-width: 900px) { .inspector { position: sticky; max-height: 46vh; } }`;
const sheets = import.meta.glob<string>("./style/*.css", { query: "?inline", import: "default", eager: true });

function style(): string {
  const order = (path: string) => FIRST.findIndex((name) => path.endsWith(`/${name}.css`)) + 1 || FIRST.length + 1;
  const paths = Object.keys(sheets).sort((a, b) => order(a) - order(b) || a.localeCompare(b));
  const css = [".in-shadow { all: initial; display: block; }", ...paths.map((path) => sheets[path] ?? ""), FRAME].join("\n");
  return css.replace(/(\d*\.?\d+)rem\b/g, (_, number: string) => `${Number(number) * REM}px`);
}

/** Ask by messages: each has a number, and its answer has the same. */
function messenger(model: Model) {
  const waiting = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>();
  let asked = 0;
  const hear = ({ id, answer, error }: Answer) => {
    const asker = waiting.get(id);
    waiting.delete(id);
    if (answer === undefined) asker?.reject(new Error(error));
    else asker?.resolve(JSON.parse(answer));
  };
  model.on("msg:custom", hear);
  return {
    ask: (what: string, given: unknown) =>
      new Promise<unknown>((resolve, reject) => {
        const id = ++asked;
        waiting.set(id, { resolve, reject });
        model.send({ id, what, given });
      }),
    end: () => model.off("msg:custom", hear),
  };
}

/** Notebooks say themselves whether they are dark; others leave it to the system. */
function isDark(): boolean {
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === "false";
  if (vscodeThemeKind !== undefined) return vscodeThemeKind.includes("dark");
  return darkQuery().matches;
}

function cellOf(host: HTMLElement, root: ShadowRoot): Place {
  let hash = "";
  return {
    root,
    host,
    hash: () => hash,
    goTo: (other) => {
      hash = other;
    },
    listen: () => () => undefined,
    isDark,
    show: (element) => {
      if (element) element.scrollIntoView({ block: "start", behavior: "instant" });
      else root.querySelector(".in-shadow")?.scrollTo(0, 0);
    },
    link: () => null,
  };
}

/** Show the page in an element; what comes back takes it away. */
function show({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const host = document.createElement("div");
  host.className = "prosector-page";
  host.dataset["lmSuppressShortcuts"] = "true"; // what is typed here is no command to the notebook
  const root = host.attachShadow({ mode: "open" });
  const sheet = document.createElement("style");
  sheet.textContent = style();
  const page = document.createElement("div");
  page.className = "in-shadow"; // nothing is inherited from the notebook from here on
  root.append(sheet, page);
  el.append(host);

  const { ask, end } = messenger(model);
  let isLive = false;
  let isGone = false;
  liveIn(cellOf(host, root));
  answerBy(ask);
  const draw = () => {
    if (isGone) return;
    const saved = JSON.parse(model.get("document")) as Document;
    render(<App key={`${isLive} ${saved.run} ${saved.text}`} first={{ ...saved, served: isLive }} />, page);
  };
  draw();
  model.on("change:document", draw);
  // Whoever answers this is a Python that holds the model: from then on the page asks it.
  ask("hello", {})
    .then(() => {
      isLive = true;
      draw();
    })
    .catch(() => undefined);
  return () => {
    isGone = true;
    end();
    model.off("change:document", draw);
    render(null, page);
    host.remove();
  };
}

export { show as render };
