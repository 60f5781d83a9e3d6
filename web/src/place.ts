// Where the page lives: a window of its own, or a cell of a notebook, of which it is then only a guest. Whatever would
// touch the window (its address, its language, its colours, its scroll bar) goes by way of here.
export interface Place {
  /** What the page's elements are found in. */
  root: Document | ShadowRoot;
  /** The element that says which language and which colours it has. */
  host: HTMLElement;
  /** Where the reader is, as an address writes it. */
  hash: () => string;
  /** Put the reader elsewhere; a step is one that Back takes back. */
  goTo: (hash: string, isStep: boolean) => void;
  /** Hear of readers who are put elsewhere by their browser; what comes back ends it. */
  listen: (moved: () => void) => () => void;
  /** Whether surroundings are dark. */
  isDark: () => boolean;
  /** Bring an element to the top, or the top of the page. */
  show: (element: Element | null) => void;
  /** The address that leads back to where the reader is; null where there is none. */
  link: () => string | null;
}

export const darkQuery = () => matchMedia("(prefers-color-scheme: dark)");

const ownWindow: Place = {
  root: document,
  host: document.documentElement,
  hash: () => location.hash,
  goTo: (hash, isStep) => (isStep ? history.pushState(null, "", hash) : history.replaceState(null, "", hash)),
  listen: (moved) => {
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  },
  isDark: () => darkQuery().matches,
  show: (element) => {
    if (!element) return scrollTo(0, 0);
    element.scrollIntoView({ block: "start", behavior: "instant" });
    scrollBy(0, -90);
  },
  link: () => location.href,
};

let chosen = ownWindow;

export const place = (): Place => chosen;

/** Live elsewhere than in a window of one's own. */
export function liveIn(other: Place): void {
  chosen = other;
}
