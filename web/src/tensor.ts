// Arrays of numbers, as they come from Python: float32 with all its bits, or float16.
import type { Packed } from "./document";

export class Tensor {
  private parts: Tensor[] = [];

  constructor(
    readonly shape: number[],
    readonly data: Float32Array,
  ) {}

  /** A number by its indices. */
  at(...place: number[]): number {
    let index = 0;
    this.shape.forEach((size, axis) => (index = index * size + (place[axis] ?? 0)));
    return this.data[index] ?? NaN;
  }

  /** A part with one index less: a head of [H, L, d]. The same each time, so that what shows it need not be drawn anew. */
  part(number: number): Tensor {
    const shape = this.shape.slice(1);
    const size = shape.reduce((product, n) => product * n, 1);
    return (this.parts[number] ??= new Tensor(shape, this.data.subarray(number * size, (number + 1) * size)));
  }

  get rows(): number {
    return this.shape.at(-2) ?? 1;
  }

  get columns(): number {
    return this.shape.at(-1) ?? 1;
  }
}

const unpacked = new WeakMap<Packed, Tensor>();

/** Read an array; each is read once. */
export function unpack(packed: Packed): Tensor {
  const known = unpacked.get(packed);
  if (known) return known;
  const text = atob(packed.data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const data = packed.type === "f4" ? new Float32Array(bytes.buffer) : fromHalves(new Uint16Array(bytes.buffer));
  const tensor = new Tensor(packed.shape, data);
  unpacked.set(packed, tensor);
  return tensor;
}

/** float16: a sign, five bits of exponent, ten of fraction. */
function fromHalves(halves: Uint16Array): Float32Array {
  return Float32Array.from(halves, (half) => {
    const sign = half & 0x8000 ? -1 : 1;
    const exponent = (half >> 10) & 31;
    const fraction = half & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -14 * (fraction / 1024);
  });
}

export function unpackFrom(values: Record<string, Packed>, address: string): Tensor | null {
  const packed = values[address];
  return packed ? unpack(packed) : null;
}
