// The whole machine: this model, drawn from what it is made of; what is clicked opens beside it.
import { usePage } from "../context";
import { useWidth } from "../parts/size";
import { labelOf, layerName } from "../words/meaning";
import { type Box, draw } from "./machine-layout";
import { Part } from "./part";

export function MachineView() {
  const { document, state, words } = usePage();
  const [place, width] = useWidth<HTMLDivElement>("machine", 420);
  const open = openLayers(state.at);
  const drawing = draw(document, width, open);
  return (
    <div class="machine">
      <div class="drawing" ref={place}>
        <p class="model-facts">
          <b>{document.model}</b> · {document.machine.total.toLocaleString()} {words.weights}
        </p>
        <svg viewBox={`0 0 ${width} ${drawing.height}`} width={width} height={drawing.height} role="group" aria-label={words.machine}>
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
              <path d="M0.5,0.8L7,4L0.5,7.2" class="tip" />
            </marker>
          </defs>
          {drawing.frames.map((frame) => (
            <g key={`${frame.stack}${frame.layer}`} class="frame">
              <rect x={frame.x} y={frame.y} width={frame.width} height={frame.height} rx="10" />
              <text x={frame.x + frame.width - 8} y={frame.y + 14} text-anchor="end">
                {layerName(frame.layer, words)}
              </text>
            </g>
          ))}
          {drawing.wires.map((wire, i) => (
            <path key={i} class={`wire ${wire.kind}`} d={wire.path} marker-end="url(#arrow)" />
          ))}
          {drawing.boxes.map((box) => (
            <BoxOf key={box.key} box={box} />
          ))}
        </svg>
        <p class="hint">{words.clickABox}</p>
      </div>
      <Part />
    </div>
  );
}

/** The layer of each stack that is open: that of what is open, else the first. */
function openLayers(at: string): Record<string, number> {
  const found = /^(\w+)\.(\d+)/.exec(at);
  return found?.[1] ? { [found[1]]: Number(found[2]) } : {};
}

function BoxOf({ box }: { box: Box }) {
  const { document, state, go, words } = usePage();
  const isOpen = state.at === box.at;
  const label = labelOf(document, box, words);
  const activate = () => go({ at: box.at, cell: null });
  const isRound = box.kind === "add" || box.kind === "position";
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  return (
    <g
      class={`box ${box.kind} ${isOpen ? "open" : ""}`}
      role="button"
      tabindex={0}
      aria-pressed={isOpen}
      aria-label={label.full}
      onClick={activate}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        activate();
      }}
    >
      <title>{label.full}</title>
      {isRound ? (
        <>
          <circle cx={x} cy={y} r={box.height / 2} />
          <path class="sign" d={`M${x - 4},${y}h8M${x},${y - 4}v8`} />
          {box.kind === "position" && (
            <text class="aside" x={x + box.width / 2 + 8} y={y + 4}>
              {label.text}
            </text>
          )}
        </>
      ) : (
        <>
          <rect x={box.x} y={box.y} width={box.width} height={box.height} rx={box.kind === "norm" ? 12 : 7} />
          <text x={x} y={y + 4} text-anchor="middle">
            {fitted(label.text, box.width)}
          </text>
        </>
      )}
    </g>
  );
}

/** As much of a text as fits. */
function fitted(text: string, width: number): string {
  let room = (width - 16) / 7;
  let kept = "";
  for (const character of text) {
    room -= character > "\u2e80" ? 1.85 : 1;
    if (room < 0) return `${kept.trimEnd()}…`;
    kept += character;
  }
  return kept;
}
