// Beam search as a tree: what was born, overtaken, finished; a node opens with its words, scores and looks.
import { useState } from "preact/hooks";
import { usePage } from "../context";
import type { Token, Tree } from "../document";
import { joined, shown } from "../parts/tokens";
import { unpack } from "../tensor";
import { pathOf, place, type Placed } from "./beam-layout";
import { LookBars } from "./why";

const COLUMN = 96;
const ROW = 30;

export function Beam({ tree }: { tree: Tree }) {
  const { document, state, go, words } = usePage();
  const [withPassed, showPassed] = useState(false);
  const placed = place(tree, withPassed, COLUMN, ROW);
  const chosen = placed.find((each) => each.number === state.node)?.number ?? tree.best;
  const lit = new Set(pathOf(tree, chosen));
  const width = Math.max(...placed.map((each) => each.x)) + COLUMN + 60;
  const height = Math.max(...placed.map((each) => each.y)) + ROW + 8;
  return (
    <section class="beam">
      <h2>{words.beam}</h2>
      <p class="lead">{words.beamHint(document.options.beam)}</p>
      <label class="check">
        <input type="checkbox" checked={withPassed} onChange={(event) => showPassed(event.currentTarget.checked)} />
        {words.showPassed}
      </label>
      <div class="scroll" tabindex={0} role="group" aria-label={words.beam}>
        <svg width={width} height={height} viewBox={`-4 -4 ${width} ${height}`}>
          {placed.map((each) => each.parent && <Branch key={each.number} from={each.parent} to={each} isLit={lit.has(each.number)} />)}
          {placed.map((each) => (
            <Leaf key={each.number} placed={each} tree={tree} isChosen={each.number === chosen} onPick={() => go({ node: each.number })} />
          ))}
        </svg>
      </div>
      <Opened tree={tree} number={chosen} />
      <Finished tree={tree} chosen={chosen} />
    </section>
  );
}

function Branch({ from, to, isLit }: { from: Placed; to: Placed; isLit: boolean }) {
  const [x1, y1] = [from.x + pillWidth, from.y + ROW / 2 - 3];
  const [x2, y2] = [to.x, to.y + ROW / 2 - 3];
  const p = Math.exp(to.node[2]);
  const path = y1 === y2 ? `M${x1},${y1}H${x2}` : `M${x1},${y1}C${x1 + 14},${y1} ${x1 + 4},${y2} ${x2},${y2}`;
  return <path class={`branch ${to.node[4]} ${to.onBest ? "best" : ""} ${isLit ? "lit" : ""}`} d={path} style={{ strokeWidth: `${1 + 3 * p}px` }} />;
}

const pillWidth = 76;

function Leaf({ placed, tree, isChosen, onPick }: { placed: Placed; tree: Tree; isChosen: boolean; onPick: () => void }) {
  const { words } = usePage();
  const [, id, logP, , state, score] = placed.node;
  const token = tree.tokens[id] as Token | undefined;
  const text = placed.number ? shown(token) : words.beginning;
  const full = `${text}, ${words.state[state]}, p ${Math.exp(logP).toFixed(3)}`;
  return (
    <g
      class={`leaf ${state} ${placed.onBest ? "best" : ""} ${isChosen ? "chosen" : ""}`}
      transform={`translate(${placed.x},${placed.y})`}
      role="button"
      tabindex={0}
      aria-label={full}
      aria-pressed={isChosen}
      onClick={onPick}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        onPick();
      }}
    >
      <title>{full}</title>
      <rect width={pillWidth} height={ROW - 6} rx="6" />
      <text x={pillWidth / 2} y={ROW / 2 + 1} text-anchor="middle" class={token?.special ? "special" : ""}>
        {text.length > 9 ? `${text.slice(0, 8)}…` : text}
      </text>
      {score !== null && (
        <text class="score" x={pillWidth + 6} y={ROW / 2 + 1}>
          {score.toFixed(3)}
        </text>
      )}
    </g>
  );
}

/** A hypothesis that is open: its words with their log p, and where it looked when its last word was written. */
function Opened({ tree, number }: { tree: Tree; number: number }) {
  const { document, words } = usePage();
  const path = pathOf(tree, number).reverse().slice(1);
  const node = tree.nodes[number];
  const source = document.sequences["source"];
  const row = node && node[0] >= 0 ? tree.looksOf[node[0]] : undefined;
  const looks = unpack(tree.looks);
  const weights = row === undefined || !looks.shape[1] ? null : meanOfLayers(looks.part(row).data, looks.columns);
  if (!node || !path.length) return null;
  return (
    <div class="opened">
      <p>
        {path.map((each) => {
          const [, id, logP] = tree.nodes[each] ?? [0, 0, 0];
          const token = tree.tokens[id];
          return (
            <span class={`word ${token?.special ? "special" : ""}`}>
              {shown(token)}
              <small>{logP.toFixed(2)}</small>
            </span>
          );
        })}
      </p>
      <p class="address">
        {words.state[node[4]]} · Σ log p = {node[3].toFixed(3)}
        {node[5] !== null && ` · ${words.score} ${node[5].toFixed(4)}`}
      </p>
      {weights && source && (
        <>
          <h3>
            {words.whereItLooked}: {shown(tree.tokens[node[1]])}
          </h3>
          <LookBars tokens={source} weights={weights} />
        </>
      )}
    </div>
  );
}

function meanOfLayers(data: Float32Array, keys: number): number[] {
  const layers = data.length / keys;
  return Array.from({ length: keys }, (_, key) => {
    let sum = 0;
    for (let layer = 0; layer < layers; layer++) sum += data[layer * keys + key] ?? 0;
    return sum / layers;
  });
}

function Finished({ tree, chosen }: { tree: Tree; chosen: number }) {
  const { document, go, words } = usePage();
  const found = tree.nodes
    .map((node, number) => ({ node, number }))
    .filter(({ node }) => node[5] !== null)
    .sort((a, b) => (b.node[5] ?? 0) - (a.node[5] ?? 0));
  return (
    <table class="finished">
      <caption>{words.hypotheses}</caption>
      <tbody>
        {found.map(({ node, number }) => {
          const text = tree.texts[number] || joined(pathOf(tree, number).reverse().slice(1).flatMap((each) => tree.tokens[tree.nodes[each]?.[1] ?? -1] ?? []));
          const isGreedy = document.greedy !== null && text === document.greedy;
          return (
            <tr key={number} class={number === chosen ? "chosen" : ""}>
              <td class="p">{node[5]?.toFixed(4)}</td>
              <td>
                <button type="button" onClick={() => go({ node: number })}>
                  {text}
                </button>
                {number === tree.best && <em>{words.best}</em>}
                {isGreedy && <em>{words.greedy}</em>}
              </td>
            </tr>
          );
        })}
        {document.greedy !== null && !found.some(({ number }) => tree.texts[number] === document.greedy) && (
          <tr>
            <td />
            <td>
              {document.greedy}
              <em>{words.greedy}</em>
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}
