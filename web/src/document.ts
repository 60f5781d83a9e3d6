// What Python hands over: one run of a model, as src/prosector/explain/ writes it.

export interface Token {
  id: number;
  text: string;
  space: boolean;
  special: boolean;
}

export interface Packed {
  shape: number[];
  type: "f4" | "f2";
  data: string;
}

export interface Sublayer {
  address: string;
  kind: "self" | "cross" | "feed-forward";
  norm: string;
  sum: string;
  heads?: number;
  kvHeads?: number;
  size: number;
  valueSize?: number;
  scale?: number;
  /** Which sequence is looked at, if it is neither the stack's own nor the memory. */
  keys?: string;
}

export interface Layer {
  address: string;
  preNorm: boolean;
  sublayers: Sublayer[];
}

export type Act = "embed" | "rotate" | "bias";

export interface Stack {
  address: string;
  sequence: string;
  /** Of a stack that makes its tokens itself. */
  embedding?: string;
  position: { name: string; acts: Act[] };
  layers: Layer[];
  firstNorm: string | null;
  finalNorm: string | null;
}

export interface Machine {
  stacks: Stack[];
  weights: Record<string, number>;
  total: number;
}

export interface Step {
  candidates: { token: Token; p: number; logit: number }[];
  chosen?: { token: Token; p: number; rank: number };
  logSum: number;
  entropy: number;
}

export type NodeState = "passed" | "kept" | "overtaken" | "hopeless" | "finished" | "cut";
/** parent, token, log p, Σ log p, what became of it, score */
export type TreeNode = [number, number, number, number, NodeState, number | null];

export interface Tree {
  nodes: TreeNode[];
  tokens: Record<string, Token>;
  best: number;
  texts: Record<string, string>;
  looks: Packed;
  looksOf: Record<string, number>;
}

export interface Role {
  name: string;
  previous: number;
  same: number;
  next: number;
  first: number;
  last: number;
  diagonal: number;
  spread: number;
}

export interface RunOptions {
  text: string;
  beam: number;
  alpha: number;
  temperature: number | null;
  seed: number;
  prefix: number[];
  mask_off: boolean;
  positions_off: boolean;
  heads_off: [string, number][];
}

export interface Acting {
  picture: Packed;
  similarity: number[][];
}

export interface Encoding {
  kind: string;
  stack?: string;
  untrained?: boolean;
  /** What a class of the user's own says of itself; and what it said when it could not be asked. */
  text?: string;
  fault?: string;
  embed?: Acting;
  rotate?: Acting;
  bias?: Acting;
  frequencies?: number[];
  layout?: string;
}

/** What every run has, also one that is only there to be compared. */
export interface Outcome {
  options: RunOptions;
  sequences: Record<string, Token[]>;
  output: string;
  written: Token[];
  score: number;
  steps: Step[];
  values: Record<string, Packed>;
}

export interface Document extends Outcome {
  kind: string;
  task: "translate" | "write" | "fill" | "class" | "segment";
  /** What can be changed about a run: text, search, temperature, force, mask, positions, heads. */
  changeable: string[];
  text: string;
  model: string;
  run: number;
  served: boolean;
  languages: string[];
  config: Record<string, unknown>;
  machine: Machine;
  roles: Record<string, Role[]>;
  lens: { token: Token; p: number }[][] | null;
  shares: Record<string, number>[] | null;
  tree: Tree | null;
  greedy: string | null;
  positions?: { own: Encoding[]; all: Encoding[] };
  whatifs?: Outcome[];
  picture?: Picture;
}

/** What a model that sees was shown: the picture in grey, how tokens stand in it, or tables of its size to lay over it. */
export interface Picture {
  grey: Packed;
  classes: string[];
  /** For each sequence its rows and columns, and how many tokens stand before them. */
  grids: Record<string, [rows: number, columns: number, prefix: number]>;
  over: { name: string; values: Packed }[];
}

export function readDocument(): Document {
  const element = document.getElementById("document");
  return JSON.parse(element?.textContent ?? "null") as Document;
}

/** The attentions of a model in the order of its data, each with its stack. */
export interface Attention extends Sublayer {
  keys: string;
  stack: Stack;
  layer: number;
  queries: string;
}

export function attentionsOf(machine: Machine): Attention[] {
  const memory = machine.stacks[0];
  return machine.stacks.flatMap((stack) =>
    stack.layers.flatMap((layer, number) =>
      layer.sublayers
        .filter((sublayer) => sublayer.kind !== "feed-forward")
        .map((sublayer) => ({
          ...sublayer,
          stack,
          layer: number,
          queries: stack.sequence,
          keys: sublayer.keys ?? (sublayer.kind === "cross" && memory ? memory.sequence : stack.sequence),
        })),
    ),
  );
}

export function embeddingOf(document: Document, stack: Stack): string | null {
  if (stack.embedding) return stack.embedding;
  const names = [`${stack.sequence}_embedding`, "embedding", "patches"];
  return names.find((name) => name in document.values) ?? null;
}
