// The arithmetic of attention, of numbers that are all on the page: scores, weights, what a head found.
// Other numbers are made with the model's weights, which only the server has.
import type { Arithmetic, Line } from "./api";
import { attentionsOf, type Attention, type Document } from "./document";
import type { Cell } from "./state";
import { type Tensor, unpackFrom } from "./tensor";

const SHOWN = 6;

export function number(value: number, signed = false): string {
  if (!Number.isFinite(value)) return value < 0 ? "-∞" : "∞";
  let text = value.toFixed(4);
  if (Number(text) === 0) text = text.replace("-", "");
  return signed && text.startsWith("-") ? `(${text})` : text;
}

/** Where an address belongs to an attention: the attention, and which of its values it is. */
export function attentionAt(document: Document, address: string): [Attention, string] | null {
  for (const attention of attentionsOf(document.machine))
    if (address.startsWith(`${attention.address}.`)) return [attention, address.slice(attention.address.length + 1)];
  return null;
}

export function calculate(document: Document, cell: Cell): Arithmetic | null {
  const found = attentionAt(document, cell.address);
  if (!found) return null;
  const [attention, what] = found;
  const get = (name: string) => unpackFrom(document.values, `${attention.address}.${name}`);
  const recorded = get(what)?.part(cell.head).at(cell.row, cell.column);
  if (recorded === undefined) return null;
  const lines = linesOf(attention, what, cell, get, recorded);
  return lines && { address: cell.address, lines, recorded };
}

function linesOf(
  attention: Attention,
  what: string,
  { head, row, column }: Cell,
  get: (name: string) => Tensor | null,
  recorded: number,
): Line[] | null {
  const group = (attention.heads ?? 1) / (attention.kvHeads ?? 1);
  if (what === "scores") {
    const query = get("query")?.part(head);
    const key = get("key")?.part(Math.floor(head / group));
    if (!query || !key) return null;
    const left = rowOf(query, row);
    const right = rowOf(key, column);
    return scoreLines(left, right, attention.scale ?? 1, row, column, recorded);
  }
  if (what === "weights") {
    const scores = get("scores")?.part(head);
    const weights = get("weights")?.part(head);
    return scores && weights ? [softmaxLine(rowOf(scores, row), rowOf(weights, row), row, column)] : null;
  }
  if (what === "heads") {
    const weights = get("weights")?.part(head);
    const values = get("value")?.part(Math.floor(head / group));
    if (!weights || !values) return null;
    const right = Array.from({ length: values.rows }, (_, key) => values.at(key, column));
    return [dotLine(`head[${row}, ${column}]`, rowOf(weights, row), right)];
  }
  return null;
}

function rowOf(table: Tensor, row: number): number[] {
  return Array.from(table.part(row).data);
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function products(left: number[], right: number[]): number[] {
  return left.map((value, i) => value * (right[i] ?? 0));
}

function dotLine(name: string, left: number[], right: number[]): Line {
  const terms = left.map((value, i) => `${number(value, true)}·${number(right[i] ?? 0, true)}`);
  const shown = terms.length <= SHOWN ? terms : [...terms.slice(0, SHOWN - 1), "…", terms.at(-1) ?? ""];
  return { name, written: shown.join(" + "), value: sum(products(left, right)), left, right };
}

/** q·k, then what it is multiplied with, then what positions add to it, if they do. */
function scoreLines(left: number[], right: number[], scale: number, row: number, column: number, recorded: number): Line[] {
  const dot = dotLine(`q${sub(row)}·k${sub(column)}`, left, right);
  const scaled = Number(dot.value) * scale;
  const added = recorded - scaled;
  const lines = [dot, { name: `score[${row}, ${column}]`, written: `${number(Number(dot.value), true)}·${number(scale)}`, value: scaled }];
  if (Math.abs(added) < 1e-3) return lines;
  lines.push({ name: "+ position", written: `${number(scaled)} + ${number(added, true)}`, value: scaled + added });
  return lines;
}

function softmaxLine(scores: number[], weights: number[], row: number, column: number): Line {
  const allowed = weights.map((weight) => weight !== 0);
  const largest = Math.max(...scores.filter((_, key) => allowed[key]));
  const powers = scores.map((score, key) => (allowed[key] ? Math.exp(score - largest) : 0));
  const below = sum(powers);
  const above = allowed[column] ? `e^${number((scores[column] ?? 0) - largest, true)}` : "e^-∞";
  return {
    name: `weight[${row}, ${column}]`,
    written: `${above} / ${number(below)}`,
    value: (powers[column] ?? 0) / below,
  };
}

const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

export function sub(n: number): string {
  return String(n).replace(/\d/g, (digit) => SUBSCRIPTS[Number(digit)] ?? digit);
}
