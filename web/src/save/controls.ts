// What a browser draws by itself: fields, sliders, boxes to check.
import { element, round, type Sheet } from "./svg";

/** Draw a control; false if it is none. */
export function drawControl(each: Element, box: DOMRect, style: CSSStyleDeclaration, sheet: Sheet): boolean {
  const middle = round(box.top + box.height / 2);
  const accent = style.accentColor === "auto" ? style.color : style.accentColor;
  if (each instanceof HTMLSelectElement) write(`${each.selectedOptions[0]?.textContent ?? ""} ▾`);
  else if (!(each instanceof HTMLInputElement)) return false;
  else if (each.type === "checkbox") check(each.checked);
  else if (each.type === "range") slide((Number(each.value) - Number(each.min)) / (Number(each.max) - Number(each.min) || 1));
  else write(each.value);
  sheet.reach(box);
  return true;

  function write(text: string): void {
    const drawn = element("text", {
      x: round(box.left + parseFloat(style.paddingLeft) + 1),
      y: middle,
      fill: style.color,
      "font-family": style.fontFamily,
      "font-size": style.fontSize,
      "dominant-baseline": "central",
    });
    drawn.textContent = text;
    sheet.group.append(drawn);
  }

  function check(isOn: boolean): void {
    const size = Math.min(box.width, box.height) - 1;
    const [x, y] = [box.left + 0.5, middle - size / 2];
    sheet.put("rect", { x, y, width: size, height: size, rx: 2, fill: isOn ? accent : "none", stroke: accent });
    if (isOn) sheet.put("path", { d: `M${x + size * 0.2},${y + size * 0.5}l${size * 0.22},${size * 0.24}l${size * 0.38},${-size * 0.48}`, fill: "none", stroke: "#fff", "stroke-width": 1.8 });
  }

  function slide(share: number): void {
    const knob = round(box.left + 8 + share * (box.width - 16));
    const rail = { y1: middle, y2: middle, "stroke-width": 4, "stroke-linecap": "round" };
    sheet.put("line", { ...rail, x1: box.left + 2, x2: box.right - 2, stroke: style.color, "stroke-opacity": 0.25 });
    sheet.put("line", { ...rail, x1: box.left + 2, x2: knob, stroke: accent });
    sheet.put("circle", { cx: knob, cy: middle, r: 7, fill: accent });
  }
}
