// Where the parts of a model are drawn: a column for each stack, from the words down; only one layer of each is open.
import type { Document, Layer, Stack, Sublayer } from "../document";
import { embeddingOf } from "../document";

export type Kind =
  | "tokens"
  | "embedding"
  | "position"
  | "norm"
  | "self"
  | "cross"
  | "feed-forward"
  | "add"
  | "layer"
  | "output"
  | "words";

export interface Box {
  key: string;
  kind: Kind;
  /** What is open when it is clicked: an address, or the number of a layer to open. */
  at: string;
  stack: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Wire {
  path: string;
  kind: "flow" | "residual" | "memory";
}

export interface Frame {
  x: number;
  y: number;
  width: number;
  height: number;
  layer: number;
  stack: string;
}

export interface Drawing {
  boxes: Box[];
  wires: Wire[];
  frames: Frame[];
  height: number;
}

const GAP = 15;
const HEIGHTS: Record<Kind, number> = {
  tokens: 32,
  embedding: 32,
  position: 22,
  norm: 24,
  self: 36,
  cross: 36,
  "feed-forward": 36,
  add: 18,
  layer: 32,
  output: 32,
  words: 32,
};

/** Puts boxes of one column below each other. */
class Column {
  boxes: Box[] = [];
  wires: Wire[] = [];
  frames: Frame[] = [];
  y = 8;

  constructor(
    readonly stack: Stack,
    readonly x: number,
    readonly width: number,
  ) {}

  get centre(): number {
    return this.x + this.width / 2;
  }

  put(kind: Kind, at: string, key = at): Box {
    const height = HEIGHTS[kind];
    const isRound = kind === "add" || kind === "position";
    const inset = kind === "norm" ? this.width * 0.12 : this.width * 0.05;
    const width = isRound ? height : this.width - 2 * inset;
    const box = { key, kind, at, stack: this.stack.address, x: this.centre - width / 2, y: this.y, width, height };
    const last = this.boxes.at(-1);
    if (last) this.wires.push({ path: `M${this.centre},${last.y + last.height}V${box.y - 1}`, kind: "flow" });
    this.boxes.push(box);
    this.y += height + GAP;
    return box;
  }

  /** A sublayer with its norm, its sum, and the path around it. */
  sublayer(sublayer: Sublayer, preNorm: boolean): void {
    const begin = this.y - GAP / 2 - 2;
    if (preNorm) this.put("norm", sublayer.norm);
    this.put(sublayer.kind, sublayer.address);
    const add = this.put("add", sublayer.sum, `${sublayer.sum}+`);
    const left = this.x + 4;
    const end = add.y + add.height / 2;
    this.wires.push({
      path: `M${this.centre},${begin}H${left + 8}Q${left},${begin} ${left},${begin + 8}V${end - 8}Q${left},${end} ${left + 8},${end}H${add.x - 1}`,
      kind: "residual",
    });
    if (!preNorm) this.put("norm", sublayer.norm);
  }

  layer(layer: Layer, number: number, isOpen: boolean): void {
    if (!isOpen) {
      this.put("layer", layer.address);
      return;
    }
    const top = this.y - GAP / 2 + 2;
    this.y += 12;
    for (const sublayer of layer.sublayers) this.sublayer(sublayer, layer.preNorm);
    this.frames.push({
      x: this.x - 3,
      y: top,
      width: this.width + 6,
      height: this.y - top - 1,
      layer: number,
      stack: this.stack.address,
    });
    this.y += 8;
  }
}

export function draw(document: Document, width: number, open: Record<string, number>): Drawing {
  const { stacks } = document.machine;
  const gap = stacks.length > 1 ? Math.min(64, width * 0.11) : 0;
  const each = Math.min(300, (width - gap * (stacks.length - 1) - 8) / stacks.length);
  const start = (width - each * stacks.length - gap * (stacks.length - 1)) / 2;
  const columns = stacks.map((stack, i) => new Column(stack, start + i * (each + gap), each));
  columns.forEach((column, i) => fill(document, column, open, i === columns.length - 1));
  const drawing: Drawing = {
    boxes: columns.flatMap((column) => column.boxes),
    wires: columns.flatMap((column) => column.wires),
    frames: columns.flatMap((column) => column.frames),
    height: Math.max(...columns.map((column) => column.y)),
  };
  const [first, second] = columns;
  if (first && second && second.boxes.some((box) => box.kind === "cross")) drawing.wires.push(...memoryWires(first, second, gap));
  else columns.slice(1).forEach((column, i) => drawing.wires.push(...onwards(columns[i], column, gap)));
  return drawing;
}

function fill(document: Document, column: Column, open: Record<string, number>, isLast: boolean): void {
  const { stack } = column;
  const embedding = embeddingOf(document, stack);
  column.put("tokens", `tokens:${stack.sequence}`);
  if (embedding) column.put("embedding", embedding);
  if (stack.position.acts.includes("embed")) column.put("position", `${stack.address}.input`, `${stack.address}.input+`);
  if (stack.firstNorm) column.put("norm", stack.firstNorm);
  stack.layers.forEach((layer, number) => column.layer(layer, number, (open[stack.address] ?? 0) === number));
  if (stack.finalNorm) column.put("norm", stack.finalNorm);
  if (!isLast) column.put("output", stack.address);
  else {
    column.put("output", "logits");
    column.put("words", "words");
  }
}

/** From the end of a column to the beginning of the next: what one stage found, the next begins with. */
function onwards(from: Column | undefined, to: Column, gap: number): Wire[] {
  const [last, first] = [from?.boxes.at(-1), to.boxes[0]];
  if (!from || !last || !first) return [];
  const middle = from.x + from.width + gap / 2;
  const [start, end] = [last.y + last.height / 2, first.y + first.height / 2];
  const path = `M${last.x + last.width + 1},${start}H${middle - 8}Q${middle},${start} ${middle},${start - 8}V${end + 8}Q${middle},${end} ${middle + 8},${end}H${first.x - 2}`;
  return [{ path, kind: "flow" }];
}

/** From where the memory comes out, up between the columns, into every attention across. */
function memoryWires(from: Column, to: Column, gap: number): Wire[] {
  const last = from.boxes.at(-1);
  if (!last) return [];
  const middle = from.x + from.width + gap / 2;
  const targets = to.boxes.filter((box) => box.kind === "cross" || box.kind === "layer");
  const start = last.y + last.height / 2;
  return targets.map((box) => {
    const end = box.y + box.height / 2;
    const turn = end < start ? -8 : 8;
    return {
      path: `M${last.x + last.width + 1},${start}H${middle - 8}Q${middle},${start} ${middle},${start + turn}V${end - turn}Q${middle},${end} ${middle + 8},${end}H${box.x - 2}`,
      kind: "memory" as const,
    };
  });
}
