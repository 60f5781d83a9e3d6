// RoPE moving: each pair of features is a hand; a query's and a key's, and the angle between them.
import { arc } from "d3-shape";
import { useEffect, useState } from "preact/hooks";
import { usePage } from "../context";

const SIZE = 74;
const RADIUS = 30;
const LAST = 47;
const turn = arc();

export function Clocks({ frequencies }: { frequencies: number[] }) {
  const { words } = usePage();
  const [query, setQuery] = useState(9);
  const [key, setKey] = useState(4);
  const [plays, play] = useState(false);
  useEffect(() => {
    if (!plays) return;
    const timer = setInterval(() => {
      setQuery((at) => (at + 1) % (LAST + 1));
      setKey((at) => (at + 1) % (LAST + 1));
    }, 220);
    return () => clearInterval(timer);
  }, [plays]);
  const some = frequencies.filter((_, pair) => pair % Math.ceil(frequencies.length / 8) === 0);
  const similarity = frequencies.reduce((sum, frequency) => sum + Math.cos((query - key) * frequency), 0) / frequencies.length;
  const together = (by: number) => {
    const distance = query - key;
    const moved = Math.min(LAST - Math.max(0, -distance), Math.max(Math.max(0, distance), by));
    setQuery(moved);
    setKey(moved - distance);
  };
  return (
    <section class="clocks">
      <h2>{words.clocks}</h2>
      <p class="lead">{words.clocksHint}</p>
      <div class="switches">
        <Range name={words.queryAt} value={query} set={setQuery} />
        <Range name={words.keyAt} value={key} set={setKey} />
        <Range name={words.moveBoth} value={query} set={together} />
        <button type="button" aria-pressed={plays} onClick={() => play(!plays)}>
          {plays ? words.pause : words.play}
        </button>
      </div>
      <div class="faces">
        {some.map((frequency, number) => (
          <Face key={number} frequency={frequency} query={query} at={key} />
        ))}
      </div>
      <p class="similarity">
        {words.distance} {query - key} · Σ cos / {frequencies.length} = <b>{similarity.toFixed(4)}</b>
      </p>
    </section>
  );
}

function Range({ name, value, set }: { name: string; value: number; set: (value: number) => void }) {
  return (
    <label class="slider">
      <span>
        {name} <output>{value}</output>
      </span>
      <input type="range" min={0} max={LAST} value={value} onInput={(event) => set(Number(event.currentTarget.value))} />
    </label>
  );
}

/** A query's hand, a key's hand, and the angle between them, which only the distance decides. */
function Face({ frequency, query, at }: { frequency: number; query: number; at: number }) {
  const [a, b] = [query * frequency, at * frequency];
  const between = Math.atan2(Math.sin(a - b), Math.cos(a - b));
  const hand = (angle: number, name: string) => <line class={name} x1={0} y1={0} x2={Math.cos(angle) * RADIUS} y2={-Math.sin(angle) * RADIUS} />;
  // d3 measures from twelve o'clock, clockwise; angles here from three o'clock, the other way round
  const clockwise = (angle: number) => Math.PI / 2 - angle;
  const wedge = turn({ innerRadius: 0, outerRadius: 13, startAngle: clockwise(b), endAngle: clockwise(b + between) }) ?? "";
  return (
    <figure class="face">
      <svg width={SIZE} height={SIZE} viewBox={`${-SIZE / 2} ${-SIZE / 2} ${SIZE} ${SIZE}`} aria-hidden="true">
        <circle r={RADIUS + 2} />
        <path d={wedge} class="wedge" />
        {hand(b, "key")}
        {hand(a, "query")}
      </svg>
      <figcaption>
        θ {frequency < 0.001 ? frequency.toExponential(0) : frequency.toPrecision(2)}
        <small>cos {Math.cos(a - b).toFixed(2)}</small>
      </figcaption>
    </figure>
  );
}
