// Writing: what may come at each step, why the chosen word was chosen, and the beam as a tree.
import { usePage } from "../context";
import { Candidates, percent } from "../parts/candidates";
import { joined, shown } from "../parts/tokens";
import { Beam } from "./beam";
import { Alignment } from "./compare";
import { Lens, Looked, Shares } from "./why";

const SHOWN = 7; // tokens before the one that is written

export function WritingView() {
  const { document, state, go, words } = usePage();
  const step = Math.min(Math.max(state.step, 0), document.steps.length - 1);
  return (
    <div class="writing">
      <section>
        <h2>{document.task === "fill" ? words.fill : document.task === "write" ? words.goOn : words.writing}</h2>
        <p class="lead">{document.task === "fill" ? words.fillHint : words.writingHint}</p>
        <ol class="steps">
          {document.steps.map((each, number) => {
            const before = document.task === "fill" ? [] : document.written.slice(0, number);
            return (
              <li key={number} class={number === step ? "chosen" : ""}>
                <button type="button" aria-pressed={number === step} onClick={() => go({ step: number, cell: null })}>
                  <span class="number">{number + 1}</span>
                  <span class="so-far">
                    {before.length > SHOWN && "… "}
                    {joined(before.slice(-SHOWN))} <b class={each.chosen?.token.special ? "special" : ""}>{shown(each.chosen?.token)}</b>
                  </span>
                  <span class="p">{each.chosen && percent(each.chosen.p)}</span>
                </button>
              </li>
            );
          })}
        </ol>
        <Lens step={step} />
      </section>
      <section class="step" aria-live="polite">
        <h3>
          {document.task === "fill" ? `${words.gap} ${step + 1}` : `${words.step} ${step + 1}: ${words.candidates}`}
        </h3>
        <Candidates step={document.steps[step]} most={8} />
        <Looked step={step} />
        <Shares step={step} />
      </section>
      {document.task === "translate" && !document.machine.stacks.length && <Alignment outcome={document} />}
      {document.tree && <Beam tree={document.tree} />}
      {document.options.temperature !== null && <p class="note">{words.sampled}</p>}
    </div>
  );
}
