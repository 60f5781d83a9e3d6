// What if: change the sentence, the model or the search, and see what comes of it beside what was.
import { useState } from "preact/hooks";
import { runModel } from "../api";
import { usePage } from "../context";
import { attentionsOf, type Document, type Outcome, type RunOptions } from "../document";
import type { Words } from "../words/en";
import { layerName, sequenceName } from "../words/meaning";
import { Compare } from "./compare";
import { Order } from "./order";

export function WhatIfView() {
  const { document, words } = usePage();
  const isFixed = !document.changeable.length;
  return (
    <div class="whatif">
      <h2>{words.whatif}</h2>
      {!isFixed && <p class="lead">{document.served ? words.whatifHint : words.offline}</p>}
      {reasons(document, words).map((reason) => (
        <p class="note" key={reason}>
          {reason}
        </p>
      ))}
      {!isFixed && (document.served ? <Served /> : <Stored />)}
    </div>
  );
}

/** Why some of what could be taken away elsewhere cannot be here. */
function reasons(document: Document, { cannot }: Words): string[] {
  const can = (what: string) => document.changeable.includes(what);
  if (document.task === "segment") return [cannot.unet];
  if (document.kind.startsWith("rnn")) return [cannot.recurrent];
  const found = [];
  if (!can("mask")) found.push(cannot.mask);
  if (!can("positions")) found.push(document.kind === "conv-transformer" ? cannot.convolution : cannot.positions);
  return found;
}

function Served() {
  const { document, setDocument, go, words } = usePage();
  const [before, setBefore] = useState<Outcome>(document);
  const [options, setOptions] = useState<RunOptions>({ ...document.options, prefix: [...document.options.prefix] });
  const [after, setAfter] = useState<Document | null>(null);
  const [isRunning, setRunning] = useState(false);
  const [refused, setRefused] = useState("");
  const can = (what: string) => document.changeable.includes(what);
  const change = (some: Partial<RunOptions>) => setOptions({ ...options, ...some });
  const run = async (some: Partial<RunOptions> = {}) => {
    const wanted = { ...options, ...some };
    setOptions(wanted);
    setRunning(true);
    setRefused("");
    try {
      const plain = { text: wanted.text, beam: wanted.beam };
      if (plain.text !== before.options.text) setBefore(await runModel(plain));
      setAfter(await runModel(wanted));
    } catch (error) {
      setRefused((error as Error).message);
    }
    setRunning(false);
  };
  const reset = () => {
    setOptions({ ...options, alpha: 1, temperature: null, prefix: [], mask_off: false, positions_off: false, heads_off: [] });
    setAfter(null);
  };
  const force = (step: number, id: number) => {
    const ids = (after ?? before).written.slice(0, step).map((token) => token.id);
    void run({ prefix: [...ids, id] });
  };
  return (
    <>
      <form
        class="controls"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        {can("text") && (
          <label class="sentence">
            {document.task === "fill" ? words.gapsText : document.task === "write" ? words.beginningText : words.sentence}
            <input type="text" value={options.text} onInput={(event) => change({ text: event.currentTarget.value, prefix: [] })} />
          </label>
        )}
        <Switches options={options} change={change} />
        {can("heads") && <Heads options={options} change={change} />}
        <div class="buttons">
          <button type="submit" class="primary" disabled={isRunning}>
            {isRunning ? words.running : words.run}
          </button>
          <button type="button" onClick={reset}>
            {words.reset}
          </button>
          {after && (
            <button
              type="button"
              onClick={() => {
                setDocument({ ...document, ...after });
                go({ view: document.machine.stacks.length ? "attention" : "writing", cell: null });
              }}
            >
              {words.useIt}
            </button>
          )}
        </div>
        {refused && (
          <p class="error" role="alert">
            {refused}
          </p>
        )}
      </form>
      {document.task === "fill" && !(after ?? before).steps.length && <p class="note">{words.noGap}</p>}
      <Compare before={before} after={after} {...(can("force") ? { onForce: force } : {})} />
      {document.languages[0] === "zh" && can("positions") && <Order />}
    </>
  );
}

function Switches({ options, change }: { options: RunOptions; change: (some: Partial<RunOptions>) => void }) {
  const { document, words } = usePage();
  const temperature = options.temperature ?? 0;
  const can = (what: string) => document.changeable.includes(what);
  return (
    <div class="switches">
      {can("mask") && (
        <label class="check" title={words.maskOffHint}>
          <input type="checkbox" checked={options.mask_off} onChange={(event) => change({ mask_off: event.currentTarget.checked })} />
          {words.maskOff}
        </label>
      )}
      {can("positions") && (
        <label class="check" title={document.picture ? words.positionsOff : words.positionsOffHint}>
          <input type="checkbox" checked={options.positions_off} onChange={(event) => change({ positions_off: event.currentTarget.checked })} />
          {words.positionsOff}
        </label>
      )}
      {can("search") && (
        <>
          <Slider name={words.beamSize} value={options.beam} min={1} max={8} step={1} set={(beam) => change({ beam })} />
          <Slider name={words.lengthPenalty} value={options.alpha} min={0} max={3} step={0.1} set={(alpha) => change({ alpha })} />
        </>
      )}
      {can("temperature") && <Slider name={words.temperature} value={temperature} min={0} max={2} step={0.1} set={(t) => change({ temperature: t || null })} />}
      {temperature > 0 && <Slider name={words.seed} value={options.seed} min={0} max={20} step={1} set={(seed) => change({ seed })} />}
    </div>
  );
}

function Slider({ name, value, min, max, step, set }: { name: string; value: number; min: number; max: number; step: number; set: (value: number) => void }) {
  return (
    <label class="slider">
      <span>
        {name} <output>{step < 1 ? value.toFixed(1) : value}</output>
      </span>
      <input type="range" min={min} max={max} step={step} value={value} onInput={(event) => set(Number(event.currentTarget.value))} />
    </label>
  );
}

/** A button for each head, by layer. */
function Heads({ options, change }: { options: RunOptions; change: (some: Partial<RunOptions>) => void }) {
  const { document, words } = usePage();
  const isOff = (address: string, head: number) => options.heads_off.some(([a, h]) => a === address && h === head);
  const toggle = (address: string, head: number) => {
    const others = options.heads_off.filter(([a, h]) => a !== address || h !== head);
    change({ heads_off: isOff(address, head) ? others : [...others, [address, head]] });
  };
  return (
    <details class="heads-off">
      <summary>
        {words.removeHeads} {options.heads_off.length > 0 && `(${options.heads_off.length})`}
      </summary>
      <p class="hint">{words.removeHeadsHint}</p>
      <div class="head-rows">
        {attentionsOf(document.machine).map((attention) => (
          <div key={attention.address}>
            <span>{attention.address}</span>
            {Array.from({ length: attention.heads ?? 0 }, (_, head) => (
              <button
                type="button"
                key={head}
                aria-pressed={isOff(attention.address, head)}
                aria-label={`${attention.address}, ${words.head} ${head + 1}`}
                onClick={() => toggle(attention.address, head)}
              >
                {head + 1}
              </button>
            ))}
          </div>
        ))}
      </div>
    </details>
  );
}

/** Of a page in a file: what was computed when it was written. */
function Stored() {
  const { document, words } = usePage();
  const [chosen, choose] = useState(0);
  const stored = document.whatifs ?? [];
  if (!stored.length) return <p class="note">{words.noWhatIf}</p>;
  const nameOf = ({ options }: Outcome) => {
    if (options.mask_off) return words.maskOff;
    if (options.positions_off) return words.positionsOff;
    const [address, head] = options.heads_off[0] ?? ["", 0];
    const attention = attentionsOf(document.machine).find((each) => each.address === address);
    const kind = attention?.kind === "cross" ? words.cross : words.self;
    return `${attention && sequenceName(attention.stack.address, words)} · ${kind} · ${layerName(attention?.layer ?? 0, words)} · ${words.head} ${head + 1}`;
  };
  return (
    <>
      <label class="pick">
        {words.offlinePick}{" "}
        <select value={chosen} onChange={(event) => choose(Number(event.currentTarget.value))}>
          {stored.map((each, number) => (
            <option key={number} value={number}>
              {nameOf(each)}
            </option>
          ))}
        </select>
      </label>
      <Compare before={document} after={stored[chosen] ?? null} />
    </>
  );
}
