// A text of the page as it stands in its lines. Each piece is given its length, so that another font changes no layout.
import { type Attributes, round, type Sheet } from "./svg";

const ruler = new OffscreenCanvas(1, 1).getContext("2d");

interface Piece {
  text: string;
  box: DOMRect;
}

export function drawText(node: Text, style: CSSStyleDeclaration, sheet: Sheet): void {
  if (!node.data.trim()) return;
  const isUpright = style.writingMode !== "horizontal-tb";
  const font: Attributes = {
    fill: style.color,
    "font-family": style.fontFamily,
    "font-size": style.fontSize,
    "font-weight": style.fontWeight,
    "font-style": style.fontStyle,
  };
  const stacked = isUpright && style.textOrientation === "upright";
  for (const { text, box } of stacked ? characters(node) : lines(node, isUpright)) {
    if (!box.width || !box.height) continue;
    sheet.reach(box);
    const middle = { x: round(box.left + box.width / 2), y: round(box.top + box.height / 2) };
    const drawn = stacked
      ? sheet.put("text", { ...font, ...middle, "text-anchor": "middle", "dominant-baseline": "central" })
      : isUpright
        ? sheet.put("text", { ...font, transform: `translate(${middle.x} ${round(box.bottom)}) rotate(-90)`, "dominant-baseline": "central", textLength: round(box.height) })
        : sheet.put("text", { ...font, x: round(box.left), y: round(baseline(box, style)), textLength: round(box.width), lengthAdjust: "spacingAndGlyphs" });
    drawn.textContent = text;
  }
}

/** Where the letters stand: the room of a line is the font's own, above and below. */
function baseline(box: DOMRect, style: CSSStyleDeclaration): number {
  if (!ruler) return box.bottom;
  ruler.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = ruler.measureText("x");
  return box.top + (box.height - above - below) / 2 + above;
}

function boxOf(node: Text, from: number, to: number): DOMRect {
  const range = document.createRange();
  range.setStart(node, from);
  range.setEnd(node, to);
  return range.getBoundingClientRect();
}

function characters(node: Text): Piece[] {
  const pieces = [];
  let at = 0;
  for (const text of node.data) {
    if (text.trim()) pieces.push({ text, box: boxOf(node, at, at + text.length) });
    at += text.length;
  }
  return pieces;
}

/** The lines that a text is broken into, without the spaces around them. */
function lines(node: Text, isUpright: boolean): Piece[] {
  const found: { from: number; to: number; edge: number }[] = [];
  let at = 0;
  for (const character of node.data) {
    const from = at;
    at += character.length;
    if (!character.trim()) continue;
    const box = boxOf(node, from, at);
    const edge = isUpright ? box.left : box.bottom;
    const last = found.at(-1);
    if (last && Math.abs(last.edge - edge) < (isUpright ? box.width : box.height) / 2) last.to = at;
    else found.push({ from, to: at, edge });
  }
  return found.map(({ from, to }) => ({ text: node.data.slice(from, to).replace(/\s+/g, " "), box: boxOf(node, from, to) }));
}
