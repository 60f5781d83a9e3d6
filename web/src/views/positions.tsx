// Positions: each encoding as a picture, how alike positions are at each distance, and RoPE turning.
import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { usePage } from "../context";
import type { Act, Acting, Encoding } from "../document";
import { Matrix } from "../parts/matrix";
import { useWidth } from "../parts/size";
import { unpack } from "../tensor";
import { Clocks } from "./clocks";

const ACTS: Act[] = ["embed", "rotate", "bias"];

export function PositionsView() {
  const { document, words } = usePage();
  const own = document.positions?.own ?? [];
  const all = (document.positions?.all ?? []).filter((encoding) => nameOf(encoding) !== (own[0] && nameOf(own[0])));
  const rope = [...own, ...all].find((encoding) => encoding.frequencies);
  const hasOne = document.machine.stacks.some((stack) => stack.position.acts.length > 0);
  return (
    <div class="positions">
      <h2>{words.positions}</h2>
      <p class="lead">{words.positionsHint}</p>
      {!own.length && <p class="note">{!hasOne ? words.noOwn : document.picture ? words.ownOfPicture : words.ownUnmeasured}</p>}
      <div class="encodings">
        {own.slice(0, 1).map((encoding) => (
          <Card key="own" encoding={encoding} isOwn />
        ))}
        {all.map((encoding) => (
          <Card key={encoding.kind} encoding={encoding} />
        ))}
      </div>
      {rope?.frequencies && <Clocks frequencies={rope.frequencies} />}
    </div>
  );
}

/** An encoding by the name that configs know it by; a class of the user's own keeps its own. */
function nameOf(encoding: Encoding): string {
  const name = encoding.kind.toLowerCase();
  return { rotary: "rope", onehot: "one-hot" }[name] ?? name;
}

function Card({ encoding, isOwn }: { encoding: Encoding; isOwn?: boolean }) {
  const { words } = usePage();
  const [title, text] = words.encodings[nameOf(encoding)] ?? [encoding.kind, encoding.text ?? words.yourOwn];
  return (
    <article class={`encoding ${isOwn ? "own" : ""}`}>
      <h3>
        {title} {isOwn && <em>{words.own}</em>}
      </h3>
      <p>
        {text} {encoding.untrained && <em>({words.untrained})</em>}
      </p>
      {encoding.fault && (
        <p class="note">
          {words.unmeasured} {encoding.fault}
        </p>
      )}
      {ACTS.map((act) => {
        const acting = encoding[act];
        return acting && <ActingOf key={act} act={act} acting={acting} name={title} />;
      })}
    </article>
  );
}

function ActingOf({ act, acting, name }: { act: Act; acting: Acting; name: string }) {
  const { words } = usePage();
  const [place, width] = useWidth<HTMLDivElement>("encoding", 300);
  const picture = unpack(acting.picture);
  const room = Math.max(120, width - 2);
  return (
    <div class="acting" ref={place}>
      <h4>{words.acts[act]}</h4>
      <Matrix label={`${name}: ${words.acts[act]}`} values={picture} scale="signed" width={room} height={Math.round(room * 0.62)} bare />
      <p class="axes">
        <span>↓ {words.position}</span>
        <span>→ {act === "bias" ? words.keyPosition : words.feature}</span>
      </p>
      <Curve acting={acting} width={room} label={act === "bias" ? words.biasAt : words.similarity} />
    </div>
  );
}

const HEIGHT = 84;

/** Similarity, or bias, against distance; a line a head. */
function Curve({ acting, width, label }: { acting: Acting; width: number; label: string }) {
  const all = acting.similarity.flat();
  const [low = 0, high = 1] = extent(all);
  const length = acting.similarity[0]?.length ?? 1;
  const x = scaleLinear([0, length - 1], [36, width - 4]);
  const y = scaleLinear([Math.min(0, low), Math.max(high, 0.001)], [HEIGHT - 4, 6]);
  const path = line<number>(
    (_, distance) => x(distance),
    (value) => y(value),
  );
  return (
    <figure class="curve">
      <svg width={width} height={HEIGHT + 14} viewBox={`0 0 ${width} ${HEIGHT + 14}`} role="img" aria-label={label}>
        {y.ticks(3).map((tick) => (
          <g key={tick} class="tick">
            <line x1={36} x2={width - 4} y1={y(tick)} y2={y(tick)} />
            <text x={32} y={y(tick) + 3} text-anchor="end">
              {tick}
            </text>
          </g>
        ))}
        {acting.similarity.map((row, head) => (
          <path key={head} d={path(row) ?? ""} style={{ opacity: 1 - head * 0.18 }} />
        ))}
        {[0, 16, 32].filter((tick) => tick < length).map((tick) => (
          <text key={tick} class="tick" x={x(tick)} y={HEIGHT + 10} text-anchor="middle">
            {tick}
          </text>
        ))}
      </svg>
      <figcaption>{label}</figcaption>
    </figure>
  );
}
