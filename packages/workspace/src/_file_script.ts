/**
 * The program that reads, writes and describes files for graders, inside the sandbox: whatever the agent has planted
 * there leads nowhere else. It opens without waiting for a pipe's other end and without following a link, and looks at
 * what it has opened rather than at the name.
 *
 * Arguments: `read path maxBytes`, `write path mode` (the content is on standard input), `stat path`. The first line of
 * its output is JSON, `{"ok": …}` or `{"code": "ENOENT"}`; the content follows, and is whole if it exits with 0.
 */
export const FILE_SCRIPT = `
"use strict";
const fs = require("fs"), path = require("path");
const [act, name, argument] = process.argv.slice(1);
const file = path.resolve(name);
const { O_RDONLY, O_WRONLY, O_CREAT, O_NONBLOCK = 0, O_NOCTTY = 0, O_NOFOLLOW = 0 } = fs.constants;
const refuse = (code) => { throw Object.assign(new Error(code), { code }); };
let answered = false;
const answer = (value) => { answered = true; fs.writeSync(1, JSON.stringify(value) + "\\n"); };
const kind = (s) => s.isFile() ? "file" : s.isDirectory() ? "directory" : s.isSymbolicLink() ? "symlink" : "other";
function open(flags, mode) {
  const fd = fs.openSync(file, flags | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, mode);
  const stats = fs.fstatSync(fd);
  if (stats.isDirectory()) refuse("EISDIR");
  if (!stats.isFile()) refuse("ENOTFILE");
  const real = process.platform === "linux" ? fs.readlinkSync("/proc/self/fd/" + fd) : fs.realpathSync(file);
  if (real !== file) refuse("ELOOP");
  return { fd, stats };
}
function copy(from, to, limit) {
  const buffer = Buffer.allocUnsafe(65536);
  for (let left = limit; left > 0; ) {
    const size = fs.readSync(from, buffer, 0, Math.min(buffer.length, left), null);
    if (size === 0) return;
    for (let at = 0; at < size; ) at += fs.writeSync(to, buffer, at, size - at);
    left -= size;
  }
}
const acts = {
  read() {
    const { fd, stats } = open(O_RDONLY);
    if (stats.size > Number(argument)) refuse("EFBIG");
    answer({ ok: true });
    copy(fd, 1, Number(argument) + 1);
  },
  write() {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    const { fd } = open(O_WRONLY | O_CREAT, Number(argument));
    fs.ftruncateSync(fd, 0);
    copy(0, fd, Infinity);
    fs.closeSync(fd);
    answer({ ok: true });
  },
  stat() {
    const s = fs.lstatSync(file);
    answer({ ok: { type: kind(s), size: s.size, mode: s.mode & 0o7777, mtimeMs: s.mtimeMs } });
  },
};
try {
  acts[act]();
} catch (error) {
  if (answered) process.exit(1);
  answer({ code: String(error.code) });
}
`;
