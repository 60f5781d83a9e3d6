// A model that sees: where each head looks over the picture, or what the gates of a U-Net let pass.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { usePage } from "../context";
import { attentionsOf, type Picture } from "../document";
import { Candidates } from "../parts/candidates";
import { Tensor, unpack, unpackFrom } from "../tensor";
import { layerName } from "../words/meaning";

export function PictureView() {
  const { document, words } = usePage();
  const picture = document.picture;
  if (!picture) return null;
  return (
    <div class="picture">
      <h2>{words.picture}</h2>
      {document.steps[0] && <Candidates step={document.steps[0]} most={5} />}
      {picture.grid ? <Patches picture={picture} grid={picture.grid} /> : <Gates picture={picture} />}
    </div>
  );
}

/** For each head the picture, lit where it looks from one place. */
function Patches({ picture, grid }: { picture: Picture; grid: [number, number] }) {
  const { document, go, words } = usePage();
  const [from, look] = useState(0);
  const prefix = picture.prefix ?? 0;
  const grey = unpack(picture.grey);
  const name = document.sequences["patches"]?.[from]?.text ?? "";
  const lit = (weights: Tensor) => new Tensor(grid, weights.part(from).data.slice(prefix));
  return (
    <>
      <p class="lead">{words.looksFrom}</p>
      <div class="seen">
        <figure>
          <Layer grey={grey} size={224} label={words.original} onPick={(y, x) => look(prefix + Math.floor(y * grid[0]) * grid[1] + Math.floor(x * grid[1]))} marked={from >= prefix ? [from - prefix, grid] : null} />
          <figcaption>
            {words.original}
            {prefix > 0 && (
              <button type="button" aria-pressed={from < prefix} onClick={() => look(0)}>
                {words.classToken}
              </button>
            )}
          </figcaption>
        </figure>
        <div class="layers-of-heads">
          {attentionsOf(document.machine).map((attention) => {
            const weights = unpackFrom(document.values, `${attention.address}.weights`);
            return (
              <div class="layer-of-heads" key={attention.address}>
                <span class="layer-name">{layerName(attention.layer, words)}</span>
                {Array.from({ length: attention.heads ?? 0 }, (_, head) => (
                  <button
                    type="button"
                    class="over"
                    key={head}
                    aria-label={`${layerName(attention.layer, words)}, ${words.head} ${head + 1}, ${name}`}
                    onClick={() => go({ view: "attention", at: attention.address, head, cell: null })}
                  >
                    {weights && <Layer grey={grey} over={lit(weights.part(head))} size={96} label="" />}
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
