// The frame of the page: what was read and written above, the views below, the open cell beside them.
import { useMemo, useState } from "preact/hooks";
import { PageContext, usePage } from "./context";
import type { Document } from "./document";
import { Inspector } from "./parts/inspector";
import { Save } from "./parts/save";
import { place } from "./place";
import { useHash, type View, viewsOf } from "./state";
import { remember, remembered, useTheme } from "./theme";
import { AttentionView } from "./views/attention";
import { MachineView } from "./views/machine";
import { PictureView } from "./views/picture";
import { PositionsView } from "./views/positions";
import { TourCard, TourView } from "./views/tour";
import { WhatIfView } from "./views/whatif";
import { WritingView } from "./views/writing";
import { en } from "./words/en";
import { zh } from "./words/zh";

const SHOW: Record<View, () => preact.JSX.Element | null> = {
  machine: MachineView,
  picture: PictureView,
  attention: AttentionView,
  writing: WritingView,
  whatif: WhatIfView,
  positions: PositionsView,
  tour: TourView,
};

type Language = "en" | "zh";

function firstLanguage(): Language {
  const chosen = remembered("language");
  if (chosen === "en" || chosen === "zh") return chosen;
  return navigator.language.startsWith("zh") ? "zh" : "en";
}

export function App({ first }: { first: Document }) {
  const [document, setDocument] = useState(first);
  const [state, go] = useHash();
  const [language, setLanguage] = useState<Language>(firstLanguage);
  const [theme, toggleTheme] = useTheme();
  const words = language === "en" ? en : zh;
  place().host.lang = language === "en" ? "en" : "zh-CN";
  const page = useMemo(() => ({ document, setDocument, state, go, words, language, theme }), [document, state, language, theme]);
  const toggleLanguage = () => {
    const other = language === "en" ? "zh" : "en";
    remember("language", other);
    setLanguage(other);
  };
  const views = viewsOf(document);
  const current = views.includes(state.view) ? state.view : (views[0] ?? "machine");
  const View = SHOW[current];
  return (
    <PageContext.Provider value={page}>
      <a class="skip" href="#content" onClick={(event) => skip(event)}>
        {words.skip}
      </a>
      <header class="top">
        <div class="bar-of-page">
          <h1>
            {words.title} <small>{words.tagline}</small>
          </h1>
          <div class="settings">
            <button type="button" lang={language === "en" ? "zh-CN" : "en"} title={words.otherLanguageTitle} onClick={toggleLanguage}>
              {words.otherLanguage}
            </button>
            <button type="button" onClick={toggleTheme}>
              {theme === "dark" ? words.light : words.dark}
            </button>
          </div>
        </div>
        <Sentences />
        <nav aria-label={words.title}>
          {views.map((view) => (
            <a
              key={view}
              href={`#/${view}`}
              aria-current={current === view ? "page" : undefined}
              onClick={(event) => {
                event.preventDefault();
                go({ view, cell: null, tour: 0 });
              }}
            >
              {words.views[view]}
            </a>
          ))}
        </nav>
      </header>
      <div class={`layout ${state.cell ? "with-inspector" : ""}`}>
        <main id="content" tabIndex={-1}>
          <Save view={current} />
          <View />
        </main>
        <Inspector />
      </div>
      <TourCard />
    </PageContext.Provider>
  );
}

/** What was read, and what was written. */
function Sentences() {
  const { document } = usePage();
  return (
    <p class="sentences">
      <span class="source">{document.text}</span>
      {document.output && (
        <span class="arrow" aria-hidden="true">
          →
        </span>
      )}
      <span class="target">{document.output}</span>
    </p>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  place().root.getElementById("content")?.focus();
}
