// A table of weights, small: to be recognised, not to be read.
import { useLayoutEffect, useRef } from "preact/hooks";
import { paint, span } from "../colours";
import { usePage } from "../context";
import type { Tensor } from "../tensor";

const MANY = 24; // among more keys no weight comes near to one

export function Thumbnail({ values }: { values: Tensor }) {
  const { theme } = usePage();
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    element.width = values.columns;
    element.height = values.rows;
    const pixels = context.createImageData(values.columns, values.rows);
    pixels.data.set(paint(values.data, "weight", values.columns > MANY ? span(values.data) : 1, theme));
    context.putImageData(pixels, 0, 0);
  }, [values, theme]);
  return <canvas ref={canvas} class="thumbnail" aria-hidden="true" />;
}
