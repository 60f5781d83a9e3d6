// Lines from those who look to where they look; the stronger, the larger the weight.
import { linkHorizontal } from "d3-shape";
import { useState } from "preact/hooks";
import type { Token } from "../document";
import { shown } from "../parts/tokens";
import type { Tensor } from "../tensor";

const ROW = 24;
const LEAST = 0.015; // weights below are no lines
const LEAST_OF_MANY = 0.05;

interface Line {
  from: number;
  to: number;
  weight: number;
}

type Point = [number, number];
type Ends = { source: Point; target: Point };

const link = linkHorizontal<Ends, Point>()
  .source((ends) => ends.source)
  .target((ends) => ends.target);

export function Looks({
  weights,
  queries,
  keys,
  width,
  across,
}: {
  weights: Tensor;
  queries: Token[];
  keys: Token[];
  width: number;
  across: boolean;
}) {
  const [pointed, point] = useState<{ side: "query" | "key"; place: number } | null>(null);
  const longest = Math.max(queries.length, keys.length);
  const row = longest > 40 ? 14 : ROW;
  const height = longest * row + 12;
  const span = Math.min(width, 620);
  const margin = Math.min(150, span * 0.28);
  const lines: Line[] = [];
  for (let from = 0; from < weights.rows; from++)
    for (let to = 0; to < weights.columns; to++) {
      const weight = weights.at(from, to);
      if (weight >= (longest > 40 ? LEAST_OF_MANY : LEAST)) lines.push({ from, to, weight });
    }
  const y = (place: number, count: number) => 6 + (place + 0.5) * row + ((longest - count) * row) / 2;
  const isLit = (line: Line) => !pointed || (pointed.side === "query" ? line.from : line.to) === pointed.place;
  const label = (token: Token, place: number, side: "query" | "key") => {
    const isQuery = side === "query";
    const isMarked = pointed?.side === side && pointed.place === place;
    const share = pointed && pointed.side !== side ? (isQuery ? weights.at(place, pointed.place) : weights.at(pointed.place, place)) : null;
    return (
      <g
        key={`${side}${place}`}
        class={`end ${isMarked ? "marked" : ""} ${token.special ? "special" : ""}`}
        tabindex={0}
        role="button"
        aria-label={shown(token)}
        onMouseEnter={() => point({ side, place })}
        onMouseLeave={() => point(null)}
        onFocus={() => point({ side, place })}
        onBlur={() => point(null)}
      >
        <rect x={isQuery ? 0 : span - margin + 6} y={y(place, isQuery ? queries.length : keys.length) - row / 2} width={margin - 6} height={row} />
        <text x={isQuery ? margin - 12 : span - margin + 12} y={y(place, isQuery ? queries.length : keys.length) + 4} text-anchor={isQuery ? "end" : "start"}>
          {shown(token)}
          {share !== null && share >= LEAST && <tspan class="share"> {share.toFixed(2)}</tspan>}
        </text>
      </g>
    );
  };
  return (
    <svg class={`looks ${across ? "across" : ""} ${longest > 40 ? "many" : ""}`} viewBox={`0 0 ${span} ${height}`} width={span} height={height} role="group">
      <g class="lines" aria-hidden="true">
        {lines.map((line) => (
          <path
            key={`${line.from} ${line.to}`}
            d={link({ source: [margin - 4, y(line.from, queries.length)], target: [span - margin + 4, y(line.to, keys.length)] }) ?? ""}
            style={{ strokeWidth: `${0.6 + line.weight * 5}px`, opacity: isLit(line) ? 0.12 + 0.85 * line.weight : 0.03 }}
          />
        ))}
      </g>
      {queries.map((token, place) => label(token, place, "query"))}
      {keys.map((token, place) => label(token, place, "key"))}
    </svg>
  );
}
