/** Where in a block, row by row, each coefficient belongs (T.81, figure A.6). */
export const ZIGZAG: readonly number[] = [
  0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46,
  53, 60, 61, 54, 47, 55, 62, 63,
];

/** `COSINES[u * 8 + x]`: the basis of the transform, with its factor. */
const COSINES = Float64Array.from({ length: 64 }, (_, i) => {
  const [u, x] = [i >> 3, i & 7];
  return (u === 0 ? Math.SQRT1_2 : 1) * 0.5 * Math.cos(((2 * x + 1) * u * Math.PI) / 16);
});

const rows = new Float64Array(64);

/**
 * The inverse cosine transform of a block (T.81, A.3.3), first along rows, then along columns.
 *
 * @param block 64 coefficients in rows.
 * @param samples Where the 64 samples go.
 * @param at Where the first one goes.
 * @param stride From a row to the next.
 */
export function inverseTransform(block: Int32Array, samples: Uint8Array, at: number, stride: number): void {
  for (let v = 0; v < 64; v += 8) {
    for (let x = 0; x < 8; x++) {
      let sum = 0;
      for (let u = 0; u < 8; u++) sum += block[v + u]! * COSINES[u * 8 + x]!;
      rows[v + x] = sum;
    }
  }
  for (let x = 0; x < 8; x++) {
    for (let y = 0; y < 8; y++) {
      let sum = 128.5;
      for (let v = 0; v < 8; v++) sum += rows[v * 8 + x]! * COSINES[v * 8 + y]!;
      samples[at + y * stride + x] = sum < 0 ? 0 : sum > 255 ? 255 : sum;
    }
  }
}
