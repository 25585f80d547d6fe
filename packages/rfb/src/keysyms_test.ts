import assert from "node:assert/strict";
import { expect, test } from "vitest";
import { keysymOf, parseChord } from "./_keysyms.ts";

const [SHIFT, CTRL, ALT, SUPER] = [0xffe1, 0xffe3, 0xffe9, 0xffeb];

test.each([
  ["ctrl+shift+t", [CTRL, SHIFT, 0x54]],
  ["Control_L+c", [CTRL, 0x63]],
  ["CTRL+C", [CTRL, 0x43]],
  ["shift+1", [SHIFT, 0x21]],
  ["shift+=", [SHIFT, 0x2b]],
  ["shift+plus", [SHIFT, 0x2b]],
  ["ctrl++", [CTRL, 0x2b]],
  ["+", [0x2b]],
  ["Return", [0xff0d]],
  ["ENTER", [0xff0d]],
  ["Page_Down", [0xff56]],
  ["PageDown", [0xff56]],
  ["ARROWLEFT", [0xff51]],
  ["F12", [0xffc9]],
  ["alt+F4", [ALT, 0xffc1]],
  ["KP_5", [0xffb5]],
  ["KeyA", [0x61]],
  ["Digit7", [0x37]],
  ["cmd+space", [SUPER, 0x20]],
  [" ", [0x20]],
  ["ä", [0xe4]],
  ["漢", [0x01006f22]],
])("the chord %j is these keys", (chord, keysyms) => {
  assert.deepEqual(parseChord(chord), keysyms);
});

test.each(["", "ctrl+", "hyper+x+", "no such key", "__proto__"])(
  "the chord %j is refused by its name",
  (chord) => {
    assert.throws(() => parseChord(chord), { name: "TypeError", message: /^Cannot press keys as / });
  },
);

test("line ends, tabs and the like are keys, other control characters are refused", () => {
  expect(Array.from("\n\r\t\b\u001b", keysymOf)).toEqual([0xff0d, 0xff0d, 0xff09, 0xff08, 0xff1b]);
  for (const text of ["\0", "\u0007", "\u0085", "\ud800"]) assert.throws(() => keysymOf(text), TypeError);
});
