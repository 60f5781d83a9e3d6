// A picture as a file: the SVG itself, or as many pixels as a browser paints of it.
import type { Picture } from "./svg";

const LARGEST = 16_000; // pixels of a side; more than that no browser paints
const AT_ONCE = 100_000_000; // pixels in all

export function saveSvg(picture: Picture, name: string): void {
  hand(new Blob([picture.text], { type: "image/svg+xml" }), `${name}.svg`);
}

/** Twice as fine as the page, if that is not too large. */
export async function savePng(picture: Picture, name: string): Promise<void> {
  const { width, height } = picture;
  const ratio = Math.min(2, LARGEST / width, LARGEST / height, Math.sqrt(AT_ONCE / (width * height)));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture.text)}`; // of an address that a policy lets through
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const file = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (file) hand(file, `${name}.png`);
}

function hand(file: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
