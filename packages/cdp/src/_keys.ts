/** One key, as `Input.dispatchKeyEvent` wants it. */
export interface Key {
  readonly key: string;
  readonly code: string;
  readonly keyCode: number;
  /** What it types. */
  readonly text?: string;
  readonly location?: number;
}

/** Bits of `Input.dispatchKeyEvent`. */
export const MODIFIERS = { Alt: 1, Control: 2, Meta: 4, Shift: 8 } as const;

/** What is typed with and without Shift on a US keyboard, with the name and number of the key. */
const SIGNS: readonly (readonly [plain: string, shifted: string, code: string, keyCode: number])[] = [
  ["`", "~", "Backquote", 192],
  ["-", "_", "Minus", 189],
  ["=", "+", "Equal", 187],
  ["[", "{", "BracketLeft", 219],
  ["]", "}", "BracketRight", 221],
  ["\\", "|", "Backslash", 220],
  [";", ":", "Semicolon", 186],
  ["'", '"', "Quote", 222],
  [",", "<", "Comma", 188],
  [".", ">", "Period", 190],
  ["/", "?", "Slash", 191],
  ...Array.from("0123456789", (digit, i) => [digit, ")!@#$%^&*("[i]!, `Digit${digit}`, 48 + i] as const),
];

const NAMED: readonly Key[] = [
  { key: "Enter", code: "Enter", keyCode: 13, text: "\r" },
  { key: "Tab", code: "Tab", keyCode: 9 },
  { key: "Backspace", code: "Backspace", keyCode: 8 },
  { key: "Escape", code: "Escape", keyCode: 27 },
  { key: "Delete", code: "Delete", keyCode: 46 },
  { key: "Insert", code: "Insert", keyCode: 45 },
  { key: "Home", code: "Home", keyCode: 36 },
  { key: "End", code: "End", keyCode: 35 },
  { key: "PageUp", code: "PageUp", keyCode: 33 },
  { key: "PageDown", code: "PageDown", keyCode: 34 },
  { key: "ArrowLeft", code: "ArrowLeft", keyCode: 37 },
  { key: "ArrowUp", code: "ArrowUp", keyCode: 38 },
  { key: "ArrowRight", code: "ArrowRight", keyCode: 39 },
  { key: "ArrowDown", code: "ArrowDown", keyCode: 40 },
  { key: "ContextMenu", code: "ContextMenu", keyCode: 93 },
  { key: "Alt", code: "AltLeft", keyCode: 18, location: 1 },
  { key: "Control", code: "ControlLeft", keyCode: 17, location: 1 },
  { key: "Meta", code: "MetaLeft", keyCode: 91, location: 1 },
  { key: "Shift", code: "ShiftLeft", keyCode: 16, location: 1 },
  ...Array.from({ length: 12 }, (_, i) => ({
    key: `F${String(i + 1)}`,
    code: `F${String(i + 1)}`,
    keyCode: 112 + i,
  })),
];

const KEYS: ReadonlyMap<string, Key> = new Map(
  [
    ...NAMED,
    ...SIGNS.flatMap(([plain, shifted, code, keyCode]) =>
      [plain, shifted].map((text) => ({ key: text, code, keyCode, text })),
    ),
    ...Array.from("abcdefghijklmnopqrstuvwxyz").flatMap((letter) => {
      const upper = letter.toUpperCase();
      const place = { code: `Key${upper}`, keyCode: upper.charCodeAt(0) };
      return [letter, upper].map((text) => ({ ...place, key: text, text }));
    }),
    { key: " ", code: "Space", keyCode: 32, text: " " },
  ].map((key) => [key.key, key]),
);

const ALIASES: Readonly<Record<string, string>> = {
  Space: " ",
  Esc: "Escape",
  Return: "Enter",
  Ctrl: "Control",
  Cmd: "Meta",
  Command: "Meta",
  Del: "Delete",
  Up: "ArrowUp",
  Down: "ArrowDown",
  Left: "ArrowLeft",
  Right: "ArrowRight",
};

/** The key of that name; undefined for a character that no key of a US keyboard types. */
export function keyNamed(name: string): Key | undefined {
  return KEYS.get(Object.hasOwn(ALIASES, name) ? ALIASES[name]! : name);
}
