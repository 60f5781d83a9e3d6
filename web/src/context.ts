// What every part of the page may ask for: the run, where the reader is, the language, the theme.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Document } from "./document";
import type { State } from "./state";
import type { Theme } from "./theme";
import type { Words } from "./words/en";

export interface Page {
  document: Document;
  setDocument: (document: Document) => void;
  state: State;
  go: (change: Partial<State>) => void;
  words: Words;
  language: "en" | "zh";
  theme: Theme;
}

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (!page) throw new Error("outside the page");
  return page;
}
