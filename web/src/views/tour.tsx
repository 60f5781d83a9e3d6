// The guided tour: a card that leads over the page, step by step; each step has a link of its own.
import { useEffect, useMemo, useState } from "preact/hooks";
import { usePage } from "../context";
import { place } from "../place";
import { hashOf, type State } from "../state";
import { tourOf } from "./tour-steps";

const NOWHERE: Partial<State> = { at: "", head: 0, step: 0, node: -1, cell: null };

export function TourView() {
  const { document, go, words, language } = usePage();
  const steps = tourOf(document);
  const at = language === "en" ? 0 : 1;
  return (
    <div class="tour-start">
      <h2>{words.tour(steps.length)}</h2>
      <p class="lead">{steps.length ? words.tourHint : words.noTour}</p>
      <ol>
        {steps.map((step, number) => (
          <li key={number}>
            <a
              href={hashOf({ ...step.state, tour: number + 1 })}
              onClick={(event) => {
                event.preventDefault();
                go({ ...NOWHERE, ...step.state, tour: number + 1 });
              }}
            >
              {step.title[at]}
            </a>
          </li>
        ))}
      </ol>
      {steps.length > 0 && (
        <button type="button" class="primary" onClick={() => steps[0] && go({ ...NOWHERE, ...steps[0].state, tour: 1 })}>
          {words.tourStart}
        </button>
      )}
    </div>
  );
}

export function TourCard() {
  const { document, state, go, words, language } = usePage();
  const [isCopied, copied] = useState(false);
  const isOn = state.tour > 0;
  const steps = useMemo(() => (isOn ? tourOf(document) : []), [document, isOn]);
  const step = steps[state.tour - 1];
  useEffect(() => copied(false), [state.tour]);
  useEffect(() => {
    if (!step || state.view !== "attention") return;
    const wanted = state.cell ? `.stage.${state.cell.address.split(".").at(-1)}` : ".head";
    const element = place().root.querySelector(wanted);
    if (element) place().show(element);
  }, [state.tour]);
  if (!step) return null;
  const at = language === "en" ? 0 : 1;
  const to = (number: number) => {
    const next = steps[number - 1];
    if (next) go({ ...NOWHERE, ...next.state, tour: number });
    else go({ ...NOWHERE, view: "tour", tour: 0 });
    if (next?.state.view !== "attention") place().show(null);
  };
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(place().link() ?? "");
      copied(true);
    } catch {
      copied(false);
    }
  };
  return (
    <aside class="tour-card" aria-label={words.tour(steps.length)}>
      <header>
        <span class="count">{words.tourOf(state.tour, steps.length)}</span>
        <h2>{step.title[at]}</h2>
        <button type="button" class="close" aria-label={words.tourEnd} title={words.tourEnd} onClick={() => go({ tour: 0 })}>
          ×
        </button>
      </header>
      <p aria-live="polite">{step.text[at]}</p>
      <footer>
        <button type="button" disabled={state.tour === 1} onClick={() => to(state.tour - 1)}>
          ← {words.tourPrevious}
        </button>
        {place().link() !== null && (
          <button type="button" class="quiet" onClick={() => void copy()}>
            {isCopied ? words.copied : words.copyLink}
          </button>
        )}
        <button type="button" class="primary" onClick={() => to(state.tour + 1)}>
          {state.tour === steps.length ? words.tourEnd : `${words.tourNext} →`}
        </button>
      </footer>
    </aside>
  );
}
