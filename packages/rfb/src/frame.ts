/** Pixels of the screen. */
export interface Frame {
  readonly width: number;
  readonly height: number;
  /** RGBA, four bytes a pixel, row by row from the top; alpha is 255. A copy. */
  readonly data: Uint8Array;
  /** How many updates the screen had seen. */
  readonly generation: number;
  /** Where on the screen its first pixel is. */
  readonly x: number;
  readonly y: number;
}
