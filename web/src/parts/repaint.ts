// How to paint a canvas again, finer: what is saved may be printed.

/** Paint onto another canvas, with so many pixels for one of the page. */
export type Painter = (canvas: HTMLCanvasElement, ratio: number) => void;

export const painters = new WeakMap<HTMLCanvasElement, Painter>();
