// What is SVG already: a copy whose look no longer depends on the page's style sheets.
import { element, round } from "./svg";

const LOOKS = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-opacity",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
];
const ONLY_FOR_PAGES = ["class", "style", "tabindex", "role", "aria-label", "aria-pressed", "aria-hidden"];

/** A copy at a place of the picture. */
export function copyOf(svg: SVGSVGElement, box: DOMRect): SVGElement {
  const copy = svg.cloneNode(true) as SVGElement;
  const originals = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((each, place) => {
    const original = originals[place];
    if (original) dress(each, original);
  });
  for (const name of ONLY_FOR_PAGES) copy.removeAttribute(name);
  const place: Record<string, string | number> = { x: round(box.left), y: round(box.top), width: round(box.width), height: round(box.height) };
  for (const [key, value] of Object.entries(place)) copy.setAttribute(key, String(value));
  const group = element("g", {});
  group.append(copy);
  return group;
}

function dress(copy: Element, original: Element): void {
  for (const name of ONLY_FOR_PAGES) copy.removeAttribute(name);
  if (!(original instanceof SVGGraphicsElement) || original instanceof SVGDefsElement) return;
  const style = getComputedStyle(original);
  const isText = original instanceof SVGTextContentElement;
  const isGroup = original instanceof SVGGElement;
  for (const name of LOOKS) {
    if (isGroup && name !== "opacity") continue;
    if (!isText && name.startsWith("font")) continue;
    const value = style.getPropertyValue(name);
    if (value && !(name === "opacity" && value === "1")) copy.setAttribute(name, value);
  }
}
