import fc from "fast-check";
import assert from "node:assert/strict";
import { EnvportError } from "@envport/wire";
import { expect, test } from "vitest";
import { RfbCore } from "./_rfb_core.ts";
import { digest, play, recordings } from "./_testing_recordings.ts";

const sessions = recordings();
const small = sessions.filter(({ bytes }) => bytes.length < 30_000);

test("sessions of TigerVNC, x11vnc and QEMU are there, in every encoding that each has", () => {
  const names = sessions.map(({ name }) => name);
  for (const server of ["tigervnc", "x11vnc", "qemu"]) {
    for (const encoding of ["raw", "hextile", "zlib", "zrle", "tight"]) {
      expect(names).toContain(`${server}-${encoding}`);
    }
  }
});

test.each(sessions)("the recorded session $name shows the same picture again", ({ bytes, sha256 }) => {
  const { core } = play(bytes, [64 * 1024]);
  expect(digest(core.screen.bytes)).toBe(sha256);
});

test.each(small)("$name tells the same, byte by byte or in one piece", ({ bytes, sha256 }) => {
  const whole = play(bytes, [bytes.length]);
  const single = play(bytes, [1]);
  assert.deepEqual(single.told, whole.told);
  expect(digest(single.core.screen.bytes)).toBe(sha256);
});

test.each(small)("$name tells the same in chunks of any sizes", ({ bytes, sha256 }) => {
  const whole = play(bytes, [bytes.length]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 50 }), (sizes) => {
      const { core, told } = play(bytes, sizes);
      assert.deepEqual(told, whole.told);
      assert.equal(digest(core.screen.bytes), sha256);
    }),
    { numRuns: 15 },
  );
});

/** Plays what may be garbage; returns the error if there was one. */
function attempt(bytes: Buffer): EnvportError | undefined {
  try {
    play(bytes, [997]);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof EnvportError, `${String(error)} is no EnvportError`);
    assert.ok(
      ["protocol-violation", "authentication-failed", "unsupported"].includes(error.code),
      `unexpected ${error.code}: ${error.message}`,
    );
    return error;
  }
}

test("random bytes at any point of a session give a typed error or wait for more, never a hang", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...small),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      ({ bytes }, place, noise) => {
        const at = Math.floor(place * bytes.length);
        attempt(Buffer.concat([bytes.subarray(0, at), noise]));
        attempt(Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at + noise.length)]));
      },
    ),
    { numRuns: 150 },
  );
});

test("single bits turned over in a session give a typed error or another picture", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...small),
      fc.nat(),
      fc.integer({ min: 0, max: 7 }),
      ({ bytes }, place, bit) => {
        const spoilt = Buffer.from(bytes);
        spoilt[place % bytes.length]! ^= 1 << bit;
        attempt(spoilt);
      },
    ),
    { numRuns: 200 },
  );
});

test("after an error the core says the same again and reads no further", () => {
  const core = new RfbCore({ encodings: () => [], emit: () => undefined });
  assert.throws(() => core.receive(Buffer.from("HTTP/1.1 400")), { code: "protocol-violation" });
  assert.throws(() => core.receive(Buffer.from("RFB 003.008\n")), { code: "protocol-violation" });
});

const HANDSHAKE = Buffer.concat([
  Buffer.from("RFB 003.008\n"),
  Buffer.from(
    "0101" + "00000000" + "00400040" + "20180001" + "00ff00ff00ff" + "000810" + "000000" + "00000000",
    "hex",
  ),
]);

/** A message behind a whole handshake of a 64 x 64 screen. */
const after = (hex: string): Buffer =>
  Buffer.concat([HANDSHAKE, Buffer.from(hex.replaceAll(" ", ""), "hex")]);

test.each([
  ["a rectangle outside of the screen", "00 00 0001 003f 003f 0002 0001 00000000"],
  ["a screen of 65535 x 65535", "00 00 0001 0000 0000 ffff ffff ffffff21"],
  ["a screen without pixels", "00 00 0001 0000 0000 0000 0000 ffffff21"],
  ["an encoding that was not asked for", "00 00 0001 0000 0000 0001 0001 00001234"],
  ["a clipboard of 2 GB", "03 000000 7fffffff"],
  ["an extended clipboard without flags", "03 000000 fffffffe"],
  ["a copy from outside", "00 00 0001 0000 0000 0010 0010 00000001 003f 003f"],
  ["RRE with more parts than pixels", "00 00 0001 0000 0000 0001 0001 00000002 00000002 00000000"],
  ["compressed data longer than its pixels", "00 00 0001 0000 0000 0001 0001 00000006 40000000"],
  ["a fence of 65 bytes", "f8 000000 00000000 41"],
  ["a message of an unknown type", "4d"],
  ["a pointer of 4096 x 1", "00 00 0001 0000 0000 1000 0001 ffffff11"],
  ["a desktop's name of 4 GB", "00 00 0001 0000 0000 0000 0000 fffffecd ffffffff"],
  ["a Tight rectangle of an unknown kind", "00 00 0001 0000 0000 0010 0010 00000007 a0"],
])("%s is refused as soon as it is read", (_name, hex) => {
  expect(attempt(after(hex))).toMatchObject({ code: "protocol-violation" });
});

test("an update that inflates to more than its pixels is refused, whatever it would come to", () => {
  const bomb = Buffer.from("789cedc1010d000000c2a0f74f6d0e37a000000000000000000000000000000000", "hex");
  const head = after("00 00 0001 0000 0000 0001 0001 00000006" + bomb.length.toString(16).padStart(8, "0"));
  expect(attempt(Buffer.concat([head, bomb]))).toMatchObject({ code: "protocol-violation" });
});
