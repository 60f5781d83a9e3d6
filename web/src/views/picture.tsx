// A model that sees: where each head looks over the picture, or what the gates of a U-Net let pass.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { usePage } from "../context";
import { type Attention, attentionsOf, type Document, type Picture, type Token } from "../document";
import { Candidates } from "../parts/candidates";
import { Tensor, unpack, unpackFrom } from "../tensor";
import { layerName, sequenceName } from "../words/meaning";

export function PictureView() {
  const { document, words } = usePage();
  const picture = document.picture;
  if (!picture) return null;
  return (
    <div class="picture">
      <h2>{words.picture}</h2>
      {document.steps[0] && <Candidates step={document.steps[0]} most={5} />}
      {Object.keys(picture.grids).length ? <Patches picture={picture} /> : <Gates picture={picture} />}
    </div>
  );
}

type Place = [y: number, x: number];

/** For each head the picture, lit where it looks from one place. */
function Patches({ picture }: { picture: Picture }) {
  const { document, go, words } = usePage();
  const attentions = attentionsOf(document.machine);
  const hasClass = attentions.some((each) => (picture.grids[each.queries]?.[2] ?? 0) > 0);
  const [from, look] = useState<Place | null>(hasClass ? null : [0.5, 0.5]); // null is the class token
  const grey = unpack(picture.grey);
  const last = attentions.at(-1);
  const name = tokenAt(document, last?.queries ?? "", from)?.text ?? "";
  return (
    <>
      <p class="lead">{words.looksFrom}</p>
      <div class="seen">
        <figure>
          <Layer grey={grey} size={224} label={words.original} onPick={(y, x) => look([y, x])} marked={from && last ? markOf(picture, last.queries, from) : null} />
          <figcaption>
            {words.original}
            {hasClass && (
              <button type="button" aria-pressed={from === null} onClick={() => look(null)}>
                {words.classToken}
              </button>
            )}
          </figcaption>
        </figure>
        <div class="layers-of-heads">
          {attentions.map((attention) => {
            const weights = unpackFrom(document.values, `${attention.address}.weights`);
            const stage = document.machine.stacks.length > 1 ? `${sequenceName(attention.stack.sequence, words)}, ` : "";
            const label = `${stage}${layerName(attention.layer, words)}`;
            return (
              <div class="layer-of-heads" key={attention.address}>
                <span class="layer-name">{label}</span>
                {Array.from({ length: attention.heads ?? 0 }, (_, head) => (
                  <button
                    type="button"
                    class="over"
                    key={head}
                    aria-label={`${label}, ${words.head} ${head + 1}, ${name}`}
                    onClick={() => go({ view: "attention", at: attention.address, head, cell: null })}
                  >
                    {weights && <Layer grey={grey} {...lit(picture, attention, weights.part(head), from)} size={96} label="" />}
                  </button>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </>
  );
}

/** Which token stands at a place of the picture; the class token, where there is one. */
function rowAt(grid: Picture["grids"][string] | undefined, from: Place | null): number | null {
  if (!grid) return null;
  const [rows, columns, prefix] = grid;
  if (!from) return prefix ? 0 : null;
  return prefix + Math.floor(from[0] * rows) * columns + Math.floor(from[1] * columns);
}

function tokenAt(document: Document, sequence: string, from: Place | null): Token | undefined {
  return document.sequences[sequence]?.[rowAt(document.picture?.grids[sequence], from) ?? -1];
}

function markOf(picture: Picture, sequence: string, from: Place): [number, [number, number]] | null {
  const grid = picture.grids[sequence];
  return grid ? [(rowAt(grid, from) ?? 0) - grid[2], [grid[0], grid[1]]] : null;
}

/** A head's row as a table that lies over the picture; nothing where a stage has no class token yet. */
function lit(picture: Picture, attention: Attention, weights: Tensor, from: Place | null): { over?: Tensor } {
  const row = rowAt(picture.grids[attention.queries], from);
  const keys = picture.grids[attention.keys];
  if (row === null || !keys) return {};
  return { over: new Tensor([keys[0], keys[1]], weights.part(row).data.slice(keys[2])) };
}

/** The picture, each gate's coefficients over it, and how probable the last class is at each place. */
function Gates({ picture }: { picture: Picture }) {
  const { words } = usePage();
  const grey = unpack(picture.grey);
  return (
    <>
      {picture.over.length > 1 && <p class="lead">{words.gates}</p>}
      <div class="gates">
        <figure>
          <Layer grey={grey} size={250} label={words.original} />
          <figcaption>{words.original}</figcaption>
        </figure>
        {picture.over.map((each) => {
          const level = /^gate(\d+)/.exec(each.name)?.[1];
          const label = level ? words.gateLevel(Number(level) + 1) : `${words.chance}: ${picture.classes.at(-1)}`;
          return (
            <figure key={each.name}>
              <Layer grey={unpack(each.values)} size={250} label={label} />
              <figcaption>{label}</figcaption>
            </figure>
          );
        })}
      </div>
    </>
  );
}

interface LayerProps {
  grey: Tensor;
  over?: Tensor;
  size: number;
  label: string;
  onPick?: (y: number, x: number) => void;
  marked?: [number, [number, number]] | null;
}

/** A table in grey; what lies over it lets it shine through where it is large. */
function Layer({ grey, over, size, label, onPick, marked }: LayerProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const height = Math.round((size * grey.rows) / grey.columns);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    context.imageSmoothingEnabled = false;
    context.clearRect(0, 0, size, height);
    context.drawImage(pixelsOf(grey, inGrey), 0, 0, size, height);
    if (over) context.drawImage(pixelsOf(over, lightOf), 0, 0, size, height);
    if (marked) {
      const [place, [rows, columns]] = marked;
      context.strokeStyle = "#f7a765";
      context.lineWidth = 2;
      context.strokeRect(((place % columns) * size) / columns + 1, (Math.floor(place / columns) * height) / rows + 1, size / columns - 2, height / rows - 2);
    }
  }, [grey, over, size, marked]);
  const pick = onPick && ((event: MouseEvent) => onPick(Math.min(0.999, event.offsetY / height), Math.min(0.999, event.offsetX / size)));
  return <canvas ref={canvas} width={size} height={height} role="img" aria-label={label} onClick={pick} class={onPick ? "pickable" : ""} />;
}

function pixelsOf(table: Tensor, paint: (data: Float32Array) => Uint8ClampedArray): OffscreenCanvas {
  const canvas = new OffscreenCanvas(table.columns, table.rows);
  const pixels = new ImageData(table.columns, table.rows);
  pixels.data.set(paint(table.data));
  canvas.getContext("2d")?.putImageData(pixels, 0, 0);
  return canvas;
}

function inGrey(data: Float32Array): Uint8ClampedArray {
  const pixels = new Uint8ClampedArray(data.length * 4);
  data.forEach((value, i) => pixels.set([value * 255, value * 255, value * 255, 255], i * 4));
  return pixels;
}

/** Orange, the more the larger, of the largest there is. */
function lightOf(data: Float32Array): Uint8ClampedArray {
  const largest = Math.max(...data) || 1;
  const pixels = new Uint8ClampedArray(data.length * 4);
  data.forEach((value, i) => pixels.set([240, 130, 40, 225 * (value / largest)], i * 4));
  return pixels;
}
