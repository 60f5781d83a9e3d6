// What the page asks of Python: of the server that served it, or in a notebook by messages; a page in a file asks nothing.
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

/** Who answers: given what is asked ("run", "value") and with which words, the answer, or an error that says why not. */
export type Answers = (what: string, given: unknown) => Promise<unknown>;

async function serverAnswers(what: string, body: unknown): Promise<unknown> {
  const response = await fetch(`api/${what}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { error?: string };
  if (!response.ok) throw new Error(answer.error ?? response.statusText);
  return answer;
}

let answers: Answers = serverAnswers;

/** Let somebody else answer than the server. */
export function answerBy(others: Answers): void {
  answers = others;
}

export const runModel = (options: Partial<RunOptions> & { text: string }) => answers("run", options) as Promise<Document>;

export const askValue = (run: number, cell: Cell) => answers("value", { run, ...cell }) as Promise<Arithmetic>;
