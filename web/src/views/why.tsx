// Why this word: where it looked, which parts spoke for it, what earlier layers would have written.
import { usePage } from "../context";
import { attentionsOf, type Document, type Token } from "../document";
import { percent } from "../parts/candidates";
import { shown } from "../parts/tokens";
import { unpackFrom } from "../tensor";
import type { Words } from "../words/en";
import { layerName } from "../words/meaning";

/** The mean over all heads and layers of what a written token looked at. */
export function lookedAt(document: Pick<Document, "values">, step: number): number[] | null {
  const crosses = Object.keys(document.values).filter((address) => /\.cross\.weights$/.test(address));
  const tables = crosses.map((address) => unpackFrom(document.values, address)).filter((table) => table !== null);
  const first = tables[0];
  if (!first) {
    const additive = unpackFrom(document.values, "attention.weights");
    return additive ? Array.from(additive.part(step).data) : null;
  }
  const keys = first.columns;
  const mean = new Array<number>(keys).fill(0);
  for (const table of tables)
    for (let head = 0; head < (table.shape[0] ?? 0); head++)
      for (let key = 0; key < keys; key++) mean[key] = (mean[key] ?? 0) + table.at(head, step, key) / tables.length / (table.shape[0] ?? 1);
  return mean;
}

export function Looked({ step }: { step: number }) {
  const { document, words } = usePage();
  const weights = lookedAt(document, step);
  const source = document.sequences["source"];
  if (!weights || !source) return null;
  return (
    <>
      <h3>{words.whereItLooked}</h3>
      <LookBars tokens={source} weights={weights} />
    </>
  );
}

export function LookBars({ tokens, weights }: { tokens: Token[]; weights: number[] }) {
  return (
    <div class="look-bars">
      {tokens.map((token, place) => (
        <span key={place} title={(weights[place] ?? 0).toFixed(4)}>
          <i style={{ height: `${(weights[place] ?? 0) * 56}px` }} />
          <b class={token.special ? "special" : ""}>{shown(token)}</b>
        </span>
      ))}
    </div>
  );
}

const MOST = 9;

/** The parts that added most to the logit of what was written, and those that took most from it. */
export function Shares({ step }: { step: number }) {
  const { document, go, words } = usePage();
  const shares = document.shares?.[step];
  if (!shares) return null;
  const most = Object.entries(shares)
    .sort(([, a], [, b]) => Math.abs(b) - Math.abs(a))
    .slice(0, MOST);
  const largest = Math.abs(most[0]?.[1] ?? 1);
  const total = Object.values(shares).reduce((sum, share) => sum + share, 0);
  const others = Object.keys(shares).length - most.length;
  return (
    <>
      <h3>{words.whoSpoke}</h3>
      <p class="lead">{words.whoSpokeHint}</p>
      <ol class="shares">
        {most.map(([address, share]) => (
          <li key={address}>
            <button type="button" title={address} onClick={() => go(placeOf(document, address))}>
              {shareName(address, words)}
            </button>
            <span class="bar two-sided">
              <span class={share < 0 ? "negative" : "positive"} style={{ width: `${(Math.abs(share) / largest) * 50}%` }} />
            </span>
            <span class="p">{share.toFixed(2)}</span>
          </li>
        ))}
        {others > 0 && (
          <li>
            <span>{words.otherParts(others)}</span>
            <span />
            <span class="p">{(total - most.reduce((sum, [, share]) => sum + share, 0)).toFixed(2)}</span>
          </li>
        )}
        <li class="total">
          <span>Σ = logit</span>
          <span />
          <span class="p">{total.toFixed(2)}</span>
        </li>
      </ol>
    </>
  );
}

/** A part by its layer and its kind: decoder.2.cross.head 3 is “Layer 3 · Cross-attention 4”. */
function shareName(address: string, words: Words): string {
  const found = /^\w+\.(\d+)\.(\w+)(?:\.(head (\d+)|bias))?$/.exec(address);
  const kinds: Record<string, string> = {
    self: words.self,
    attention: words.self,
    cross: words.cross,
    feed_forward: words.feedForward,
  };
  const kind = found?.[2] && kinds[found[2]];
  if (!found || !kind) return address;
  const rest = found[4] ? ` ${Number(found[4]) + 1}` : found[3] ? ` ${found[3]}` : "";
  return `${layerName(Number(found[1]), words)} · ${kind}${rest}`;
}

/** Where a part is to be seen: a head in the view of attention, anything else in the machine. */
function placeOf(document: Document, address: string) {
  const head = /^(.*)\.head (\d+)$/.exec(address);
  if (head?.[1] && attentionsOf(document.machine).some((each) => each.address === head[1]))
    return { view: "attention" as const, at: head[1], head: Number(head[2]), cell: null };
  return { view: "machine" as const, at: address.replace(/\.bias$/, ""), cell: null };
}

export function Lens({ step }: { step: number }) {
  const { document, words } = usePage();
  if (!document.lens) return null;
  return (
    <>
      <h3>{words.lens}</h3>
      <p class="lead">{words.lensHint}</p>
      <ol class="lens">
        {document.lens.map((layer, number) => {
          const guess = layer[step];
          if (!guess) return null;
          return (
            <li key={number}>
              <span>{number ? layerName(number - 1, words) : words.embeddings}</span>
              <b class={guess.token.id === document.written[step]?.id ? "right" : ""}>{shown(guess.token)}</b>
              <span class="p">{percent(guess.p)}</span>
            </li>
          );
        })}
      </ol>
    </>
  );
}
