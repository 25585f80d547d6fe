/**
 * An X program without a library, so that nothing but the server stands between a click and the pixels: it covers the
 * screen, and a click paints 100 x 40 pixels below the pointer in another colour, or, in the lower half, all of it.
 *
 * @see {@link https://www.x.org/releases/X11R7.7/doc/xproto/x11protocol.html | X11 protocol}
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";

const BUTTON_PRESS = 4;
const EVENT_BYTES = 32;
const display = /:(\d+)/.exec(process.env["DISPLAY"]!)![1]!;
const cookie = readFileSync(process.env["XAUTHORITY"]!).subarray(-16);
const socket = connect(`/tmp/.X11-unix/X${display}`);

function request(
  opcode: number,
  detail: number,
  ...words: readonly (number | readonly [number, number])[]
): Buffer {
  const message = Buffer.alloc(4 + words.length * 4);
  message[0] = opcode;
  message[1] = detail;
  message.writeUInt16LE(1 + words.length, 2);
  words.forEach((word, i) => {
    if (typeof word === "number") message.writeUInt32LE(word >>> 0, 4 + i * 4);
    else {
      message.writeUInt16LE(word[0], 4 + i * 4);
      message.writeUInt16LE(word[1], 6 + i * 4);
    }
  });
  return message;
}

const hello = Buffer.alloc(12 + 20 + 16);
hello[0] = "l".charCodeAt(0);
hello.writeUInt16LE(11, 2);
hello.writeUInt16LE(18, 6);
hello.writeUInt16LE(16, 8);
hello.write("MIT-MAGIC-COOKIE-1", 12);
cookie.copy(hello, 32);
socket.write(hello);

let received = Buffer.alloc(0);
let [base, width, height, colour] = [0, 0, 0, 0];

function start(): boolean {
  if (received.length < 8 || received.length < 8 + received.readUInt16LE(6) * 4) return false;
  if (received[0] !== 1) throw new Error("The display refuses");
  base = received.readUInt32LE(12);
  const screen = 40 + Math.ceil(received.readUInt16LE(24) / 4) * 4 + received[29]! * 8;
  const root = received.readUInt32LE(screen);
  [width, height] = [received.readUInt16LE(screen + 20), received.readUInt16LE(screen + 22)];
  received = received.subarray(8 + received.readUInt16LE(6) * 4);
  // Background, no window manager, events of buttons; then a graphics context.
  socket.write(
    Buffer.concat([
      request(1, 0, base, root, [0, 0], [width, height], [0, 0], 0, 0x2 | 0x200 | 0x800, 0x336699, 1, 0x4),
      request(8, 0, base),
      request(55, 0, base + 1, base, 0x4, 0xffffff),
    ]),
  );
  return true;
}

function paint(x: number, y: number): void {
  colour = (colour + 0x1b2d3f) & 0xffffff;
  const whole = y >= height / 2;
  const [at, size] = whole
    ? [[0, 0] as const, [width, height] as const]
    : [[x, y] as const, [100, 40] as const];
  socket.write(
    Buffer.concat([request(56, 0, base + 1, 0x4, colour), request(70, 0, base, base + 1, at, size)]),
  );
}

let started = false;
socket.on("data", (chunk: Buffer) => {
  received = Buffer.concat([received, chunk]);
  if (!started && !(started = start())) return;
  for (; received.length >= EVENT_BYTES; received = received.subarray(EVENT_BYTES)) {
    if ((received[0]! & 127) === BUTTON_PRESS) paint(received.readUInt16LE(24), received.readUInt16LE(26));
    else if (received[0] === 0) throw new Error(`The display says error ${String(received[1])}`);
  }
});
socket.on("close", () => process.exit());
