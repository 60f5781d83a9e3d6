// What the page shows, drawn again as one SVG of shapes and text: it opens wherever SVG does, and asks nobody for anything.
// Every place and colour is read off the page as it is laid out, so that the picture is of the current theme and language.
import { painters } from "../parts/repaint";
import { drawText } from "./text";
import { drawControl } from "./controls";
import { copyOf } from "./inner-svg";

const NAMESPACE = "http://www.w3.org/2000/svg";
const MARGIN = 24;
const FINER = 3; // pixels of a table for one of the page

export type Attributes = Record<string, string | number>;

/** Where shapes are put, in the page's own coordinates, and how far they reach. */
export class Sheet {
  left = Infinity;
  top = Infinity;
  right = -Infinity;
  bottom = -Infinity;
  private clips = 0;

  constructor(public group: SVGElement) {}

  put(name: string, attributes: Attributes): SVGElement {
    const shape = element(name, attributes);
    this.group.append(shape);
    return shape;
  }

  /** So far does the picture reach. */
  reach(box: DOMRect): void {
    this.left = Math.min(this.left, box.left);
    this.top = Math.min(this.top, box.top);
    this.right = Math.max(this.right, box.right);
    this.bottom = Math.max(this.bottom, box.bottom);
  }

  /** What is drawn meanwhile is in a group of its own. */
  inside(attributes: Attributes, draw: () => void): void {
    const outer = this.group;
    this.group = this.put("g", attributes);
    draw();
    this.group = outer;
  }

  /** An area that nothing leaves. */
  clip(box: DOMRect): string {
    const id = `clip${this.clips++}`;
    const path = this.put("clipPath", { id });
    path.append(element("rect", { x: round(box.left), y: round(box.top), width: round(box.width), height: round(box.height) }));
    return `url(#${id})`;
  }
}

export function element(name: string, attributes: Attributes): SVGElement {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}

export const round = (value: number) => Math.round(value * 100) / 100;

export interface Picture {
  text: string;
  width: number;
  height: number;
}

/** Some elements of the page as an SVG with a title. */
export function pictureOf(elements: Element[], title: string): Picture {
  const root = element("svg", { xmlns: NAMESPACE });
  const name = element("title", {});
  name.textContent = title;
  const paper = element("rect", { fill: getComputedStyle(document.body).backgroundColor });
  const content = element("g", {});
  root.append(name, paper, content);
  const sheet = new Sheet(content);
  for (const each of elements) draw(each, sheet);
  const [x, y] = [Math.floor(sheet.left - MARGIN), Math.floor(sheet.top - MARGIN)];
  const [width, height] = [Math.ceil(sheet.right + MARGIN) - x, Math.ceil(sheet.bottom + MARGIN) - y];
  const size = { width, height };
  for (const [key, value] of Object.entries({ ...size, viewBox: `0 0 ${width} ${height}` })) root.setAttribute(key, String(value));
  for (const [key, value] of Object.entries(size)) paper.setAttribute(key, String(value));
  content.setAttribute("transform", `translate(${-x} ${-y})`);
  return { text: new XMLSerializer().serializeToString(root), ...size };
}

/** Draw an element and all in it, as far as it is to be seen. */
function draw(each: Element, sheet: Sheet): void {
  if (!each.checkVisibility({ visibilityProperty: true }) || each.matches("[data-unsaved], .sr-only, option")) return;
  const style = getComputedStyle(each);
  const opacity = Number(style.opacity);
  if (opacity < 1) sheet.inside({ opacity }, () => drawSolid(each, style, sheet));
  else drawSolid(each, style, sheet);
}

function drawSolid(each: Element, style: CSSStyleDeclaration, sheet: Sheet): void {
  const box = each.getBoundingClientRect();
  if (each instanceof SVGSVGElement) {
    sheet.reach(box);
    sheet.group.append(copyOf(each, box));
    return;
  }
  const scrolls = /auto|scroll/.test(style.overflowY);
  drawBox(style, scrolls ? new DOMRect(box.x, box.y, box.width, Math.max(box.height, each.scrollHeight)) : box, sheet);
  if (each instanceof HTMLCanvasElement) return drawCanvas(each, box, sheet);
  if (drawControl(each, box, style, sheet)) return;
  if (style.display === "list-item") drawMarker(each, box, style, sheet);
  const inner = () => each.childNodes.forEach((child) => (child instanceof Text ? drawText(child, style, sheet) : child instanceof Element && draw(child, sheet)));
  const isCut = /hidden|clip/.test(style.overflowX) && (each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight);
  const above = style.overflowY === "visible" ? 20 : 0; // cut at its sides alone
  if (isCut) sheet.inside({ "clip-path": sheet.clip(new DOMRect(box.x, box.y - above, box.width, box.height + 2 * above)) }, inner);
  else inner();
}

/** An element's ground, its borders, and a shadow that is a ring. */
function drawBox(style: CSSStyleDeclaration, box: DOMRect, sheet: Sheet): void {
  if (!box.width || !box.height) return;
  const sides = ["Top", "Right", "Bottom", "Left"] as const;
  const widths = sides.map((side) => (style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`])));
  const colours = sides.map((side) => style[`border${side}Color`]);
  const [wide = 0] = widths;
  const isRing = wide > 0 && widths.every((width) => width === wide) && new Set(colours).size === 1;
  const [fill, stroke] = [style.backgroundColor, isRing ? (colours[0] ?? "") : "none"];
  if (isSeen(fill) || (isRing && isSeen(stroke))) {
    const place = inset(box, isRing ? wide / 2 : 0);
    sheet.put("rect", { ...place, rx: parseFloat(style.borderTopLeftRadius) || 0, fill: isSeen(fill) ? fill : "none", stroke, "stroke-width": isRing ? wide : 0 });
    sheet.reach(box);
  }
  if (!isRing)
    widths.forEach((width, side) => {
      if (!width || !isSeen(colours[side] ?? "")) return;
      const middle = inset(box, width / 2);
      const [right, bottom] = [middle.x + middle.width, middle.y + middle.height];
      const ends = [
        { x1: box.left, y1: middle.y, x2: box.right, y2: middle.y },
        { x1: right, y1: box.top, x2: right, y2: box.bottom },
        { x1: box.left, y1: bottom, x2: box.right, y2: bottom },
        { x1: middle.x, y1: box.top, x2: middle.x, y2: box.bottom },
      ];
      sheet.put("line", { ...ends[side], stroke: colours[side] ?? "", "stroke-width": width });
    });
  const ring = /^(rgba?\([^)]*\)) 0px 0px 0px ([\d.]+)px$/.exec(style.boxShadow);
  if (ring) sheet.put("rect", { ...inset(box, -Number(ring[2]) / 2), rx: parseFloat(style.borderTopLeftRadius) || 0, fill: "none", stroke: ring[1] ?? "", "stroke-width": ring[2] ?? 1 });
}

function inset(box: DOMRect, by: number): { x: number; y: number; width: number; height: number } {
  return { x: round(box.left + by), y: round(box.top + by), width: round(Math.max(0, box.width - 2 * by)), height: round(Math.max(0, box.height - 2 * by)) };
}

export const isSeen = (colour: string) => colour !== "" && colour !== "transparent" && !/, 0\)$|\/ 0\)$/.test(colour);

function drawCanvas(canvas: HTMLCanvasElement, box: DOMRect, sheet: Sheet): void {
  const painter = painters.get(canvas);
  const finer = painter ? document.createElement("canvas") : canvas;
  painter?.(finer, FINER);
  sheet.reach(box);
  sheet.put("image", { ...inset(box, 0), href: finer.toDataURL("image/png"), preserveAspectRatio: "none", style: "image-rendering:pixelated" });
}

/** The number of an item, or the triangle of what opens. */
function drawMarker(each: Element, box: DOMRect, style: CSSStyleDeclaration, sheet: Sheet): void {
  const place = each.parentElement ? [...each.parentElement.children].indexOf(each) + 1 : 1;
  const marks: Record<string, string> = { decimal: `${place}.`, "disclosure-open": "▾", "disclosure-closed": "▸" };
  const mark = marks[style.listStyleType];
  if (!mark) return;
  const isInside = style.listStyleType.startsWith("disclosure");
  const size = parseFloat(style.fontSize);
  const line = parseFloat(style.lineHeight) || size * 1.2;
  const text = sheet.put("text", {
    x: round(box.left + (isInside ? 0 : -0.4 * size)),
    y: round(box.top + line / 2 + size * 0.36),
    "text-anchor": isInside ? "start" : "end",
    fill: style.color,
    "font-family": style.fontFamily,
    "font-size": size,
  });
  text.textContent = mark;
}
