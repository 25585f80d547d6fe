/**
 * The program that reads, writes and describes files for graders, inside the sandbox: whatever the agent has planted
 * there leads nowhere else. It opens without waiting for a pipe's other end and without following a link, and looks at
 * what it has opened rather than at the name.
 *
 * ```text
 * request  {"act": "read", "path", "max"} | {"act": "write", "path", "mode", "size"} | {"act": "stat", "path"}, newline,
 *          `size` bytes
 * answer   {"ok": …, "size"} | {"code": "ENOENT"}, newline, `size` bytes
 * ```
 */
export const FILE_SCRIPT = `
"use strict";
const fs = require("fs"), path = require("path");
const { O_RDONLY, O_WRONLY, O_CREAT, O_NONBLOCK = 0, O_NOCTTY = 0, O_NOFOLLOW = 0 } = fs.constants;
const refuse = (code) => { throw Object.assign(new Error(code), { code }); };
const kind = (s) => s.isFile() ? "file" : s.isDirectory() ? "directory" : s.isSymbolicLink() ? "symlink" : "other";
let input = Buffer.alloc(0);
function more() {
  const chunk = Buffer.allocUnsafe(65536);
  const size = fs.readSync(0, chunk, 0, chunk.length, null);
  if (size === 0) process.exit();
  return chunk.subarray(0, size);
}
function line() {
  for (;;) {
    const end = input.indexOf(10);
    if (end >= 0) {
      const text = input.toString("utf8", 0, end);
      input = input.subarray(end + 1);
      return text;
    }
    input = Buffer.concat([input, more()]);
  }
}
function writeAll(fd, bytes) {
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(fd, bytes, at);
}
function take(size, use) {
  for (let left = size; left > 0; ) {
    if (input.length === 0) input = more();
    const bytes = input.subarray(0, left);
    input = input.subarray(bytes.length);
    left -= bytes.length;
    use(bytes);
  }
}
function answer(value, content = []) {
  writeAll(1, Buffer.from(JSON.stringify(value) + "\\n"));
  for (const chunk of content) writeAll(1, chunk);
}
function open(file, flags, mode) {
  const fd = fs.openSync(file, flags | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, mode);
  try {
    const stats = fs.fstatSync(fd);
    if (stats.isDirectory()) refuse("EISDIR");
    if (!stats.isFile()) refuse("ENOTFILE");
    const real = process.platform === "linux" ? fs.readlinkSync("/proc/self/fd/" + fd) : fs.realpathSync(file);
    if (real !== file) refuse("ELOOP");
    return { fd, stats };
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}
function content(fd, max) {
  const chunks = [];
  for (let size = 0; ; ) {
    const chunk = Buffer.allocUnsafe(65536);
    const got = fs.readSync(fd, chunk, 0, chunk.length, null);
    if (got === 0) return { chunks, size };
    size += got;
    if (size > max) refuse("EFBIG");
    chunks.push(chunk.subarray(0, got));
  }
}
const acts = {
  read({ file, max }) {
    const { fd, stats } = open(file, O_RDONLY);
    try {
      if (stats.size > max) refuse("EFBIG");
      const { chunks, size } = content(fd, max);
      answer({ ok: true, size }, chunks);
    } finally {
      fs.closeSync(fd);
    }
  },
  write({ file, mode }, request) {
    fs.mkdirSync(path.dirname(file), { recursive: true });
    const { fd } = open(file, O_WRONLY | O_CREAT, mode);
    try {
      fs.ftruncateSync(fd, 0);
      take(request.left, (bytes) => {
        request.left -= bytes.length;
        writeAll(fd, bytes);
      });
    } finally {
      fs.closeSync(fd);
    }
    answer({ ok: true });
  },
  stat({ file }) {
    const s = fs.lstatSync(file);
    answer({ ok: { type: kind(s), size: s.size, mode: s.mode & 0o7777, mtimeMs: s.mtimeMs } });
  },
};
for (;;) {
  const { act, path: name, size = 0, ...rest } = JSON.parse(line());
  const request = { left: size };
  try {
    acts[act]({ file: path.resolve(name), ...rest }, request);
  } catch (error) {
    take(request.left, () => {});
    answer({ code: String(error.code) });
  }
}
`;
