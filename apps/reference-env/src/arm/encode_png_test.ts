import { crc32, inflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { encodePng } from "./encode_png.ts";

const SIZE = { width: 5, height: 4 };

function frame(paint: (x: number, y: number) => readonly [number, number, number]): Uint8Array {
  const pixels = Array.from({ length: SIZE.width * SIZE.height }, (_, at) =>
    paint(at % SIZE.width, Math.floor(at / SIZE.width)),
  );
  return Uint8Array.from(pixels.flat());
}

const ramp = frame((x, y) => [50 * x, 255 - 60 * y, 7 * x * y]);
const dot = frame((x, y) =>
  x === 3 && (y === 1 || y === 2) ? [1, 2, 3] : [50 * x, 255 - 60 * y, 7 * x * y],
);

/** The chunks, each with its checksum looked at. */
function chunksOf(png: Buffer): { type: string; data: Buffer }[] {
  expect(png.subarray(0, 8).toString("latin1")).toBe("\u0089PNG\r\n\u001a\n");
  const chunks = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    const body = png.subarray(at + 4, at + 8 + length);
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(body));
    chunks.push({ type: body.toString("latin1", 0, 4), data: body.subarray(4) });
    at += 12 + length;
  }
  return chunks;
}

/** Puts the pixels of a frame's area over what is there; every row has the filter Sub. */
function paint(canvas: Uint8Array, control: Buffer | undefined, compressed: Buffer): Uint8Array {
  const [width, height, x, y] = control
    ? [4, 8, 12, 16].map((at) => control.readUInt32BE(at))
    : [SIZE.width, SIZE.height, 0, 0];
  const rows = inflateSync(compressed);
  const painted = Uint8Array.from(canvas);
  for (let row = 0; row < height!; row++) {
    const from = row * (width! * 3 + 1);
    expect(rows[from]).toBe(1);
    const line = rows.subarray(from + 1, from + 1 + width! * 3);
    for (let index = 3; index < line.length; index++) line[index] = line[index]! + line[index - 3]!;
    painted.set(line, 3 * ((y! + row) * SIZE.width + x!));
  }
  return painted;
}

test("one frame is a picture", () => {
  const chunks = chunksOf(encodePng([ramp], SIZE));
  expect(chunks.map(({ type }) => type)).toEqual(["IHDR", "IDAT", "IEND"]);
  expect([...chunks[0]!.data]).toEqual([0, 0, 0, 5, 0, 0, 0, 4, 8, 2, 0, 0, 0]);
  expect(paint(new Uint8Array(60), undefined, chunks[1]!.data)).toEqual(ramp);
});

test("several frames are an animation, of which only what changes is kept", () => {
  const frames = [ramp, dot, dot, ramp];
  const chunks = chunksOf(encodePng(frames, { ...SIZE, delay: 40 }));
  expect(chunks.map(({ type }) => type)).toEqual([
    "IHDR",
    "acTL",
    "fcTL",
    "IDAT",
    "fcTL",
    "fdAT",
    "fcTL",
    "fdAT",
    "fcTL",
    "fdAT",
    "IEND",
  ]);
  const controls = chunks.filter(({ type }) => type === "fcTL").map(({ data }) => data);
  const pixels = chunks.filter(({ type }) => type === "IDAT" || type === "fdAT");
  let canvas: Uint8Array = new Uint8Array(60);
  const shown = pixels.map(({ type, data }, index) => {
    return (canvas = paint(canvas, controls[index], type === "IDAT" ? data : data.subarray(4)));
  });
  expect(shown).toEqual(frames);
  const numbered = chunks.filter(({ type }) => type === "fcTL" || type === "fdAT");
  expect(numbered.map(({ data }) => data.readUInt32BE(0))).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(controls.map((data) => [data.readUInt32BE(4), data.readUInt32BE(8)])).toEqual([
    [5, 4],
    [1, 2],
    [1, 1],
    [1, 2],
  ]);
  expect(controls.map((data) => [data.readUInt16BE(20), data.readUInt16BE(22)])).toEqual([
    [40, 1000],
    [40, 1000],
    [40, 1000],
    [1000, 1000],
  ]);
});

test("frames of another size, and none, are refused", () => {
  expect(() => encodePng([ramp, ramp.subarray(3)], SIZE)).toThrow("current value is 57");
  expect(() => encodePng([], SIZE)).toThrow("current value is none");
});
