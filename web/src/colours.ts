// From numbers to colours: weights from paper to ink, signed numbers from blue by way of paper to orange.
import { interpolateRgbBasis } from "d3-interpolate";
import type { Theme } from "./theme";

export type Scale = "weight" | "signed";

const STOPS: Record<Theme, Record<Scale, string[]>> = {
  light: {
    weight: ["#f3efe6", "#c3d5e0", "#6c9dbf", "#2b6188", "#10314b"],
    signed: ["#1f5c88", "#8db6d1", "#f3efe6", "#e8b183", "#ad4a16"],
  },
  dark: {
    weight: ["#20262c", "#234b68", "#3c7ba6", "#8cc0e4", "#f2f8fc"],
    signed: ["#8cc4ee", "#3a6c90", "#20262c", "#8f5128", "#f7a765"],
  },
};

const SHADES = 256;
const tables = new Map<string, Uint8ClampedArray>();

/** 256 colours of a scale, as bytes. */
function table(scale: Scale, theme: Theme): Uint8ClampedArray {
  const key = `${scale} ${theme}`;
  const known = tables.get(key);
  if (known) return known;
  const between = interpolateRgbBasis(STOPS[theme][scale]);
  const bytes = new Uint8ClampedArray(SHADES * 3);
  for (let i = 0; i < SHADES; i++) {
    const found = between(i / (SHADES - 1)).match(/\d+/g) ?? [];
    bytes.set(found.slice(0, 3).map(Number), i * 3);
  }
  tables.set(key, bytes);
  return bytes;
}

function shade(value: number, scale: Scale, largest: number): number {
  const share = scale === "weight" ? value / largest : (value / largest + 1) / 2;
  return Math.round(Math.min(1, Math.max(0, share)) * (SHADES - 1));
}

/** Pixels of a table of numbers, one each. */
export function paint(data: ArrayLike<number>, scale: Scale, largest: number, theme: Theme): Uint8ClampedArray {
  const colours = table(scale, theme);
  const pixels = new Uint8ClampedArray(data.length * 4);
  for (let i = 0; i < data.length; i++) {
    const at = shade(data[i] ?? 0, scale, largest || 1) * 3;
    pixels[i * 4] = colours[at] ?? 0;
    pixels[i * 4 + 1] = colours[at + 1] ?? 0;
    pixels[i * 4 + 2] = colours[at + 2] ?? 0;
    pixels[i * 4 + 3] = 255;
  }
  return pixels;
}

export function colour(value: number, scale: Scale, largest: number, theme: Theme): string {
  const at = shade(value, scale, largest || 1) * 3;
  return `rgb(${table(scale, theme).slice(at, at + 3).join(" ")})`;
}

/** Whether text on a colour has to be light. */
export function isDeep(value: number, scale: Scale, largest: number, theme: Theme): boolean {
  const at = shade(value, scale, largest || 1) * 3;
  const [r = 0, g = 0, b = 0] = table(scale, theme).slice(at, at + 3);
  return 0.299 * r + 0.587 * g + 0.114 * b < 140;
}

const spans = new WeakMap<object, number>();

/** The largest size in a table; numbers far out do not make all others pale. Each table is sorted once. */
export function span(data: Float32Array): number {
  const found = spans.get(data) ?? reachOf(data);
  spans.set(data, found);
  return found;
}

function reachOf(data: Float32Array): number {
  const sizes = Float32Array.from(data, (value) => (Number.isFinite(value) ? Math.abs(value) : 0)).sort();
  return sizes[Math.floor((sizes.length - 1) * 0.995)] || sizes.at(-1) || 1;
}
