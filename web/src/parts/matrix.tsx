// A table of numbers as colours: point at a cell to read it, click it or press Enter to open its arithmetic.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { colour, isDeep, paint, type Scale, span } from "../colours";
import { usePage } from "../context";
import type { Token } from "../document";
import type { Tensor } from "../tensor";
import type { Theme } from "../theme";
import { type Painter, painters } from "./repaint";
import { shown } from "./tokens";

interface Props {
  /** What it is, for those who do not see it. */
  label: string;
  values: Tensor;
  scale: Scale;
  /** 1 for weights; by default what the numbers reach. */
  largest?: number;
  rows?: Token[];
  columns?: Token[];
  width: number;
  height: number;
  selected?: [number, number] | null;
  onSelect?: (row: number, column: number) => void;
  /** Cells that may not be looked at. */
  forbidden?: (row: number, column: number) => boolean;
  bare?: boolean;
}

const HAN = /[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]/; // characters that stand upright in a column
const READABLE = { width: 34, height: 17 };

export function Matrix(props: Props) {
  const { values, scale, rows, columns, width, height, selected, onSelect } = props;
  const { theme } = usePage();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, point] = useState<[number, number] | null>(null);
  const [focused, focus] = useState(false);
  const [R, C] = [values.rows, values.columns];
  const [w, h] = [width / C, height / R];
  const reach = useMemo(() => span(values.data), [values]);
  const largest = props.largest ?? reach;
  const forbidden = props.forbidden;

  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const painter: Painter = (onto, ratio) => draw(onto, props, largest, theme, ratio);
    painters.set(element, painter);
    painter(element, devicePixelRatio || 1);
  }, [values, width, height, theme, largest, scale, forbidden]);

  const cellAt = (event: MouseEvent): [number, number] => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * R);
    const column = Math.floor(((event.clientX - box.left) / box.width) * C);
    return [Math.min(R - 1, Math.max(0, row)), Math.min(C - 1, Math.max(0, column))];
  };
  const cursor = pointed ?? selected ?? null;
  const onKeyDown = (event: KeyboardEvent) => {
    const [row, column] = cursor ?? [0, 0];
    const moves: Record<string, [number, number]> = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: [row, 0],
      End: [row, C - 1],
    };
    const next = moves[event.key];
    if (next) {
      event.preventDefault();
      point([Math.min(R - 1, Math.max(0, next[0])), Math.min(C - 1, Math.max(0, next[1]))]);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      onSelect?.(row, column);
    }
  };
  const marked = cursor && (pointed || selected) ? cursor : null;
  const upright = columns && w < longest(columns) * 7.2;
  return (
    <div class={`matrix ${props.bare ? "bare" : ""}`}>
      {columns && (
        <div class={`columns ${upright ? "upright" : ""}`} style={{ width: `${width}px`, ...(upright ? { height: `${heightOf(columns)}px` } : {}) }}>
          {columns.map((token, i) => (
            <span key={i} class={marked?.[1] === i ? "marked" : ""} style={{ width: `${w}px` }}>
              {isLabelled(i, w, marked?.[1]) && <i class={HAN.test(shown(token)) ? "han" : ""}>{shown(token)}</i>}
            </span>
          ))}
        </div>
      )}
      <div class="body">
        {rows && (
          <div class="rows" style={{ height: `${height}px` }}>
            {rows.map((token, i) => (
              <span key={i} class={marked?.[0] === i ? "marked" : ""} style={{ height: `${h}px`, lineHeight: `${h}px` }}>
                {isLabelled(i, h, marked?.[0]) && shown(token)}
              </span>
            ))}
          </div>
        )}
        <div
          class="cells"
          role="grid"
          aria-label={props.label}
          aria-rowcount={R}
          aria-colcount={C}
          tabIndex={0}
          style={{ width: `${width}px`, height: `${height}px` }}
          onMouseMove={(event) => point(cellAt(event))}
          onMouseLeave={() => point(null)}
          onClick={(event) => onSelect?.(...cellAt(event))}
          onKeyDown={onKeyDown}
          onFocus={() => focus(true)}
          onBlur={() => {
            focus(false);
            point(null);
          }}
        >
          <canvas ref={canvas} aria-hidden="true" />
          {selected && <Box class="selected" at={selected} w={w} h={h} />}
          {pointed && <Box class="pointed" at={pointed} w={w} h={h} />}
          <span class="sr-only" role="row">
            <span role="gridcell" aria-live={focused ? "polite" : "off"}>
              {marked && said(marked, props)}
            </span>
          </span>
        </div>
      </div>
      {!props.bare && <div class="reading">{marked ? said(marked, props) : " "}</div>}
    </div>
  );
}

/** Where cells are too small for a label each, only some have one, and that which is pointed at. */
function isLabelled(place: number, size: number, marked: number | undefined): boolean {
  const every = Math.ceil(13 / size);
  return marked === undefined ? place % every === 0 : place === marked || (place % every === 0 && Math.abs(place - marked) >= every);
}

function Box({ at, w, h, ...rest }: { class: string; at: [number, number]; w: number; h: number }) {
  const place = { left: `${at[1] * w}px`, top: `${at[0] * h}px`, width: `${w}px`, height: `${h}px` };
  return <span {...rest} style={place} />;
}

/** The room that upright labels need, 104 pixels at most. */
function heightOf(tokens: Token[]): number {
  const lengths = tokens.map((token) => [...shown(token)].reduce((sum, c) => sum + (HAN.test(c) ? 12.5 : 7.6), 8));
  return Math.min(104, Math.max(...lengths));
}

function longest(tokens: Token[]): number {
  return Math.max(...tokens.map((token) => [...shown(token)].reduce((n, c) => n + (c > "\u2e80" ? 1.7 : 1), 0)));
}

function said([row, column]: [number, number], { values, rows, columns, forbidden }: Props): string {
  const from = rows?.[row] ? shown(rows[row]) : `${row}`;
  const to = columns?.[column] ? shown(columns[column]) : `${column}`;
  const value = values.at(row, column);
  return `${from} → ${to}  ${forbidden?.(row, column) ? "-∞" : value.toFixed(4)}`;
}

function draw(canvas: HTMLCanvasElement, props: Props, largest: number, theme: Theme, ratio: number): void {
  const { values, scale, width, height, forbidden } = props;
  const [R, C] = [values.rows, values.columns];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (!context) return;
  const small = new OffscreenCanvas(C, R);
  const pixels = new ImageData(C, R);
  pixels.data.set(paint(values.data, scale, largest, theme));
  small.getContext("2d")?.putImageData(pixels, 0, 0);
  context.imageSmoothingEnabled = false;
  context.scale(ratio, ratio);
  context.drawImage(small, 0, 0, width, height);
  const [w, h] = [width / C, height / R];
  if (forbidden) hatch(context, R, C, w, h, forbidden, theme);
  if (w < READABLE.width || h < READABLE.height || props.bare) return;
  context.font = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let row = 0; row < R; row++)
    for (let column = 0; column < C; column++) {
      if (forbidden?.(row, column)) continue;
      const value = values.at(row, column);
      context.fillStyle = isDeep(value, scale, largest, theme) ? "#fdfcf9" : "#1c2a36";
      context.fillText(brief(value, scale), (column + 0.5) * w, (row + 0.5) * h + 0.5);
    }
}

function hatch(
  context: CanvasRenderingContext2D,
  R: number,
  C: number,
  w: number,
  h: number,
  forbidden: (row: number, column: number) => boolean,
  theme: Theme,
): void {
  context.strokeStyle = theme === "dark" ? "#4a545e" : "#c9c2b4";
  context.lineWidth = 1;
  for (let row = 0; row < R; row++)
    for (let column = 0; column < C; column++) {
      if (!forbidden(row, column)) continue;
      context.fillStyle = theme === "dark" ? "#15191d" : "#fbfaf7";
      context.fillRect(column * w, row * h, w, h);
      context.beginPath();
      context.moveTo(column * w + 2, (row + 1) * h - 2);
      context.lineTo((column + 1) * w - 2, row * h + 2);
      context.stroke();
    }
}

function brief(value: number, scale: Scale): string {
  if (scale === "weight") return value >= 0.995 ? "1" : value < 0.005 ? "0" : value.toFixed(2).slice(1);
  return Math.abs(value) >= 10 ? value.toFixed(0) : value.toFixed(1);
}

/** A small square of one colour. */
export function Swatch({ value, scale, largest }: { value: number; scale: Scale; largest: number }) {
  const { theme } = usePage();
  return <span class="swatch" style={{ background: colour(value, scale, largest, theme) }} />;
}
