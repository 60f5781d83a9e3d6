// Where the reader is: all of it stands in the address after #, so that a link leads back to it.
import { useEffect, useState } from "preact/hooks";
import type { Document } from "./document";
import { place } from "./place";

export const VIEWS = ["machine", "picture", "attention", "writing", "whatif", "positions", "tour"] as const;
export type View = (typeof VIEWS)[number];

export interface Cell {
  address: string;
  head: number;
  row: number;
  column: number;
}

export interface State {
  view: View;
  /** What is open: the address of a part. */
  at: string;
  head: number;
  step: number;
  node: number;
  /** The step of the tour, from 1; 0 is none. */
  tour: number;
  cell: Cell | null;
}

const START: State = { view: "machine", at: "", head: 0, step: 0, node: -1, tour: 0, cell: null };
const NUMBERS = ["head", "step", "node", "tour"] as const;

/** The views that a run has something to show in, in their order. */
export function viewsOf(document: Document): View[] {
  const stacks = document.machine.stacks.length;
  const has: Record<View, boolean> = {
    machine: stacks > 0,
    picture: document.picture !== undefined,
    attention: stacks > 0,
    writing: document.steps.length > 0 && document.task !== "class",
    whatif: true, // where nothing can be changed, it says why
    positions: stacks > 0,
    tour: true, // likewise
  };
  return VIEWS.filter((view) => has[view]);
}

export function parse(hash: string): State {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const given = new URLSearchParams(query);
  const state: State = { ...START, view: VIEWS.find((view) => view === path) ?? "machine", at: given.get("at") ?? "" };
  for (const name of NUMBERS) {
    const number = Number(given.get(name) ?? NaN);
    if (Number.isInteger(number)) state[name] = number;
  }
  const cell = given.get("cell")?.split(",");
  if (cell?.length === 4) {
    const [head, row, column] = cell.slice(1).map(Number);
    if ([head, row, column].every(Number.isInteger))
      state.cell = { address: cell[0] ?? "", head: head ?? 0, row: row ?? 0, column: column ?? 0 };
  }
  return state;
}

export function hashOf(state: Partial<State> & { view: View }): string {
  const query = new URLSearchParams();
  if (state.at) query.set("at", state.at);
  for (const name of NUMBERS) if (state[name] !== undefined && state[name] !== START[name]) query.set(name, String(state[name]));
  const cell = state.cell;
  if (cell) query.set("cell", [cell.address, cell.head, cell.row, cell.column].join(","));
  const text = query.toString().replaceAll("%2C", ",");
  return `#/${state.view}${text ? `?${text}` : ""}`;
}

/** The state, and a way to change some of it; going to another view is a step that Back takes back. */
export function useHash(): [State, (change: Partial<State>) => void] {
  const [state, set] = useState(() => parse(place().hash()));
  useEffect(() => place().listen(() => set(parse(place().hash()))), []);
  const go = (change: Partial<State>) => {
    const next = { ...parse(place().hash()), ...change };
    const hash = hashOf(next);
    if (hash === place().hash()) return;
    place().goTo(hash, change.view !== undefined && change.view !== state.view);
    set(parse(hash));
  };
  return [state, go];
}
