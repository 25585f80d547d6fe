/** Names of keys in lower case, without blanks, hyphens and underscores, and their X11 keysyms (X11/keysymdef.h). */
const NAMED: Readonly<Record<string, number>> = {
  backspace: 0xff08,
  back: 0xff08,
  tab: 0xff09,
  linefeed: 0xff0a,
  return: 0xff0d,
  enter: 0xff0d,
  pause: 0xff13,
  scrolllock: 0xff14,
  sysreq: 0xff15,
  escape: 0xff1b,
  esc: 0xff1b,
  home: 0xff50,
  left: 0xff51,
  arrowleft: 0xff51,
  up: 0xff52,
  arrowup: 0xff52,
  right: 0xff53,
  arrowright: 0xff53,
  down: 0xff54,
  arrowdown: 0xff54,
  prior: 0xff55,
  pageup: 0xff55,
  pgup: 0xff55,
  next: 0xff56,
  pagedown: 0xff56,
  pgdn: 0xff56,
  end: 0xff57,
  begin: 0xff58,
  print: 0xff61,
  printscreen: 0xff61,
  insert: 0xff63,
  ins: 0xff63,
  undo: 0xff65,
  redo: 0xff66,
  menu: 0xff67,
  contextmenu: 0xff67,
  find: 0xff68,
  cancel: 0xff69,
  help: 0xff6a,
  break: 0xff6b,
  numlock: 0xff7f,
  kpenter: 0xff8d,
  kpmultiply: 0xffaa,
  kpadd: 0xffab,
  kpsubtract: 0xffad,
  kpdecimal: 0xffae,
  kpdivide: 0xffaf,
  shift: 0xffe1,
  shiftl: 0xffe1,
  shiftleft: 0xffe1,
  shiftr: 0xffe2,
  shiftright: 0xffe2,
  ctrl: 0xffe3,
  control: 0xffe3,
  ctrll: 0xffe3,
  controll: 0xffe3,
  controlleft: 0xffe3,
  ctrlr: 0xffe4,
  controlr: 0xffe4,
  controlright: 0xffe4,
  capslock: 0xffe5,
  metal: 0xffe7,
  metar: 0xffe8,
  alt: 0xffe9,
  altl: 0xffe9,
  altleft: 0xffe9,
  option: 0xffe9,
  altr: 0xffea,
  altright: 0xffea,
  altgr: 0xfe03,
  isolevel3shift: 0xfe03,
  super: 0xffeb,
  superl: 0xffeb,
  superr: 0xffec,
  meta: 0xffeb,
  metaleft: 0xffeb,
  metaright: 0xffec,
  cmd: 0xffeb,
  command: 0xffeb,
  win: 0xffeb,
  windows: 0xffeb,
  delete: 0xffff,
  del: 0xffff,
  space: 0x20,
  spacebar: 0x20,
  plus: 0x2b,
  minus: 0x2d,
  hyphen: 0x2d,
  equal: 0x3d,
  underscore: 0x5f,
  comma: 0x2c,
  period: 0x2e,
  slash: 0x2f,
  backslash: 0x5c,
  semicolon: 0x3b,
  apostrophe: 0x27,
  grave: 0x60,
  bracketleft: 0x5b,
  bracketright: 0x5d,
};

/** Keys that change what others mean. */
export const MODIFIERS: readonly number[] = [
  0xffe1, 0xffe2, 0xffe3, 0xffe4, 0xffe7, 0xffe8, 0xffe9, 0xffea, 0xffeb, 0xffec, 0xfe03,
];

/** The left Shift key. */
export const SHIFT = 0xffe1;
const SHIFT_RIGHT = 0xffe2;

/** What keys of a US keyboard write with Shift, and what without, position by position. */
const SHIFTED = '~!@#$%^&*()_+{}|:"<>?ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const PLAIN = "`1234567890-=[]\\;',./abcdefghijklmnopqrstuvwxyz";

/** What the key writes with Shift; undefined if that is no other character. */
export function withShift(character: string): string | undefined {
  return SHIFTED[PLAIN.indexOf(character)];
}

/** What the key writes without Shift; undefined if the character needs no Shift. */
export function withoutShift(character: string): string | undefined {
  return PLAIN[SHIFTED.indexOf(character)];
}

/**
 * The keysym of a character: Latin-1 is itself, the rest of Unicode has a range of its own; line ends and the like are
 * keys.
 *
 * @throws {TypeError} If it is a control character without a key, or half of one.
 */
export function keysymOf(character: string): number {
  const code = character.codePointAt(0)!;
  if (code === 0x0a || code === 0x0d) return 0xff0d;
  if (code === 0x09 || code === 0x08 || code === 0x1b) return 0xff00 | code;
  if (code === 0x7f) return 0xffff;
  if (code < 0x20 || (code >= 0x80 && code < 0xa0) || (code >= 0xd800 && code < 0xe000)) {
    throw new TypeError(
      `Cannot type character as it must have a key: current value is U+${code.toString(16).toUpperCase().padStart(4, "0")}`,
    );
  }
  return code < 0x100 ? code : 0x01000000 | code;
}

/**
 * The keys of a chord such as `ctrl+shift+t`, in the order of pressing. Names are those of X11, xdotool, the DOM and the
 * models' tools, in any case; `+` itself is written as it is, or `plus`. With Shift, a character is the one that its key
 * then writes: a server would lift Shift for the other.
 *
 * @throws {TypeError} If a part is no key.
 */
export function parseChord(chord: string): number[] {
  const parts = chord === "+" ? ["+"] : chord.replace(/\+\+$/, "+plus").split("+");
  const shifted = parts.some((part) => [SHIFT, SHIFT_RIGHT].includes(named(part) ?? 0));
  return parts.map((part) => {
    const text = part === " " ? part : part.trim();
    if (Array.from(text).length === 1) return keysymOf((shifted ? withShift(text) : undefined) ?? text);
    const keysym = named(part);
    if (keysym !== undefined) return keysym;
    throw new TypeError(
      `Cannot press keys as each must be a character or a key's name, joined by '+': current value is ${JSON.stringify(chord)}`,
    );
  });
}

function named(name: string): number | undefined {
  const key = name
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_-]/g, "");
  const [, number] = /^f([1-9]|[12]\d|3[0-5])$/.exec(key) ?? [];
  if (number !== undefined) return 0xffbd + Number(number);
  const [, digit] = /^(?:kp|numpad)(\d)$/.exec(key) ?? [];
  if (digit !== undefined) return 0xffb0 + Number(digit);
  const [, plain] = /^(?:key(?=[a-z]$)|digit(?=\d$))(.)$/.exec(key) ?? [];
  if (plain !== undefined) return plain.charCodeAt(0);
  return Object.hasOwn(NAMED, key) ? NAMED[key] : undefined;
}
