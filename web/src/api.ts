// What the page asks of the server that served it; a page in a file asks nothing.
import type { Document, RunOptions } from "./document";
import type { Cell } from "./state";

export interface Line {
  name: string;
  written: string;
  value: number | string;
  left?: number[];
  right?: number[];
}

export interface Arithmetic {
  address: string;
  lines: Line[];
  recorded: number | string;
}

async function post<T>(path: string, body: unknown): Promise<T> {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as T & { error?: string };
  if (!response.ok) throw new Error(answer.error ?? response.statusText);
  return answer;
}

export const runModel = (options: Partial<RunOptions> & { text: string }) => post<Document>("api/run", options);

export const askValue = (run: number, cell: Cell) => post<Arithmetic>("api/value", { run, ...cell });
