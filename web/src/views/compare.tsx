// Two runs side by side: what was written, how sure each step was, where it looked.
import { useState } from "preact/hooks";
import { usePage } from "../context";
import type { Outcome } from "../document";
import { Candidates, percent } from "../parts/candidates";
import { Matrix } from "../parts/matrix";
import { useWidth } from "../parts/size";
import { shown } from "../parts/tokens";
import { Tensor, unpackFrom } from "../tensor";
import { lookedAt } from "./why";

export function Compare({ before, after, onForce }: { before: Outcome; after: Outcome | null; onForce?: (step: number, id: number) => void }) {
  const { words } = usePage();
  return (
    <div class="compare" aria-live="polite">
      <Side name={words.before} outcome={before} {...(after ? { other: after } : {})} {...(onForce && !after ? { onForce } : {})} />
      {after && <Side name={words.after} outcome={after} other={before} {...(onForce ? { onForce } : {})} />}
    </div>
  );
}

function Side({ name, outcome, other, onForce }: { name: string; outcome: Outcome; other?: Outcome; onForce?: (step: number, id: number) => void }) {
  const { document, words } = usePage();
  const [step, setStep] = useState(0);
  const at = Math.min(step, outcome.steps.length - 1);
  const changes = changesOf(outcome, words);
  const isSame = other && name === words.after && other.output === outcome.output;
  return (
    <section class="side">
      <h3>
        {name} {changes && <span class="changes">{changes}</span>}
      </h3>
      <p class={`result ${other && other.output !== outcome.output ? "differs" : ""}`} data-testid={`output-${other && name === words.after ? "after" : "before"}`}>
        {outcome.output || "—"}
      </p>
      <p class="address">
        {[document.task === "translate" && `${words.score} ${outcome.score.toFixed(4)}`, isSame && words.nothingChanged].filter(Boolean).join(" · ")}
      </p>
      {outcome.options.mask_off && <p class="hint">{document.task === "write" ? words.maskOffBars : words.maskOffScore}</p>}
      <div class="sure">
        {outcome.written.map((token, number) => {
          const p = outcome.steps[number]?.chosen?.p ?? 0;
          return (
            <button type="button" key={number} aria-pressed={number === at} onClick={() => setStep(number)} title={percent(p)}>
              <i style={{ height: `${p * 44}px` }} />
              <b class={token.special ? "special" : ""}>{shown(token)}</b>
              <small>{percent(p)}</small>
            </button>
          );
        })}
      </div>
      <Candidates
        step={outcome.steps[at]}
        most={5}
        {...(onForce ? { onPick: (token: { id: number }) => onForce(at, token.id), pickLabel: words.force } : {})}
      />
      {onForce && <p class="hint">{words.forceHint}</p>}
      <Alignment outcome={outcome} />
    </section>
  );
}

function changesOf({ options }: Outcome, words: { maskOff: string; positionsOff: string; removeHeads: string; temperature: string; lengthPenalty: string; forced: string }): string {
  const changes = [];
  if (options.mask_off) changes.push(words.maskOff);
  if (options.positions_off) changes.push(words.positionsOff);
  if (options.heads_off.length) changes.push(`− ${options.heads_off.map(([address, head]) => `${address} ${head + 1}`).join(", ")}`);
  if (options.temperature) changes.push(`${words.temperature} ${options.temperature.toFixed(1)}`);
  if (options.alpha !== 1) changes.push(`${words.lengthPenalty} ${options.alpha.toFixed(1)}`);
  if (options.prefix.length) changes.push(words.forced);
  return changes.join(" · ");
}

export function Alignment({ outcome }: { outcome: Outcome }) {
  const { words } = usePage();
  const [place, width] = useWidth<HTMLDivElement>("side", 360);
  const source = outcome.sequences["source"] ?? [];
  const rows = outcome.written.map((_, step) => lookedAt(outcome, step) ?? []);
  const isThere = Object.keys(outcome.values).some((address) => address.endsWith("cross.weights")) || unpackFrom(outcome.values, "attention.weights");
  if (!isThere || !rows.length) return null;
  const table = new Tensor([rows.length, source.length], Float32Array.from(rows.flat()));
  const room = Math.max(90, Math.min(width - 78, 40 * source.length));
  return (
    <div ref={place}>
      <h4>{"attention.weights" in outcome.values ? words.attention : words.crossAttention}</h4>
      <Matrix label={words.crossAttention} values={table} scale="weight" largest={1} rows={outcome.written} columns={source} width={room} height={20 * rows.length} />
    </div>
  );
}
