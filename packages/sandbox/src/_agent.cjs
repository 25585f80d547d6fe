"use strict";
/**
 * The spawn server. It is the first process in the sandbox and starts every other one there.
 *
 * It is given to bubblewrap as data and runs alone: one file, no imports but Node's own. Orders come in on descriptor 0
 * and reports go out on descriptor 1, one JSON object a line. Data never passes through it, except for connections:
 * it makes anonymous pipes, three a slot (to the process, from it, its errors), and the host opens their other ends
 * through /proc. Real pipes, because programs cannot open the sockets that Node makes of `stdio: "pipe"` again
 * through /dev/stdin and /dev/stderr.
 *
 * ```text
 * order                                        report
 * start   {id, slot, argv, env, cwd, pty?}     started {id, pid} then exit {id, code, signal}, or failed {id, …}
 * signal  {id, signal}
 * kill    {id}                                 SIGHUP to the group, SIGKILL 2 s later
 * resize  {id, rows, cols}
 * connect {id, slot, port}                     started {id} then exit {id, code}, or failed {id, …}
 * listen  {name, port}                         listening {name}, or unlistened {name, error}
 *                                              incoming {id, name}: someone connected to a listener
 * accept  {id, slot}   refuse {id}             exit {id: "in<id>", code}
 *                                              ready {}, slots {slots: [[id, to, from, errors], …]}
 * ```
 */
const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const { spawn } = require("node:child_process");

const SLOTS_PER_REFILL = 32;
const REFILL_BELOW = 12;
const KILL_AFTER_MS = 2000;
const RETRY_MS = 200;
/** Where `script` finds its shell, and everything else its programs. */
const TOOL_PATH = process.env.PATH;
/** KiB of private memory that each command may have, where it is for us to bound. */
const DATA_LIMIT = Number(process.argv[2] ?? 0);
const SET_LIMIT = DATA_LIMIT > 0 ? `ulimit -d ${DATA_LIMIT};` : "";

const reports = new net.Socket({ fd: 1, readable: false, writable: true });
reports.on("error", () => end());

/** Tells the host. */
function report(message) {
  reports.write(`${JSON.stringify(message)}\n`);
}

/** What the function gives; undefined where it throws, as processes and groups go away at any moment. */
function attempt(act) {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/** Takes every process of the sandbox along; the host is gone or has had enough. */
function end() {
  attempt(() => process.kill(-1, "SIGKILL"));
  process.exit(0);
}

// ---- slots: three anonymous pipes each ----

/** Free slots: id → descriptors [read end of stdin, write end of stdout, write end of stderr]. */
const slots = new Map();
let nextSlot = 0;
let refilling = false;

/**
 * Node has no pipe(2). bash makes anonymous pipes for here-strings (since 5.1) and process substitutions; both ends are
 * opened anew through /proc, each with its own flags.
 */
const MAKE_PIPES = `i=0
while [ $i -lt ${SLOTS_PER_REFILL * 3} ]; do
  exec {f}<<<x
  if [ -p /dev/fd/$f ]; then read -r _ <&$f; else exec {f}< <(:); fi
  echo $f
  i=$((i+1))
done
echo done
read -r _`;

function refill() {
  if (refilling) return;
  refilling = true;
  const helper = spawn("bash", ["--norc", "--noprofile", "-c", MAKE_PIPES], {
    stdio: ["pipe", "pipe", "ignore"],
    env: { PATH: TOOL_PATH },
  });
  let said = "";
  helper.on("error", (error) => {
    if (error.code === "ENOENT") return fatal(new Error(`no bash to make pipes with: ${error.message}`));
    // The sandbox is out of processes or memory for now.
    refilling = false;
    setTimeout(refill, RETRY_MS);
  });
  helper.on("exit", () => {
    if (said.endsWith("done\n")) return;
    refilling = false;
    setTimeout(refill, RETRY_MS);
  });
  helper.stdin.on("error", () => {});
  helper.stdout.setEncoding("utf8").on("data", (text) => {
    said += text;
    if (!refilling || !said.endsWith("done\n")) return;
    addSlots(`/proc/${helper.pid}/fd`, said.split("\n").slice(0, SLOTS_PER_REFILL * 3));
    helper.stdin.end();
    refilling = false;
  });
}

function addSlots(folder, numbers) {
  const added = [];
  for (let index = 0; index + 2 < numbers.length; index += 3) {
    const [input, output, errors] = numbers.slice(index, index + 3).map((number) => `${folder}/${number}`);
    const descriptors = [fs.openSync(input, "r"), fs.openSync(output, "w"), fs.openSync(errors, "w")];
    slots.set(nextSlot, descriptors);
    added.push([nextSlot++, ...descriptors]);
  }
  report({ op: "slots", slots: added });
}

function takeSlot(id) {
  const descriptors = slots.get(id);
  slots.delete(id);
  if (slots.size < REFILL_BELOW) refill();
  return descriptors;
}

const closeAll = (descriptors) => descriptors.forEach((descriptor) => fs.closeSync(descriptor));

// ---- processes ----

/** Running processes: id → {pid, terminal?: {ready, size, busy}}. */
const running = new Map();

/**
 * `script` opens the terminal, in the sandbox's own devpts. Its command is one string, so that argv and the environment
 * go by descriptor 3 and stay exact whatever is in them. The way back says that the first size is set.
 */
const PTY_PROGRAM = (rows, cols) =>
  `${SET_LIMIT} stty rows ${rows} cols ${cols}; mapfile -d "" -t words <&3; echo >&3; exec 3<&-; exec env -i "\${words[@]}"`;

function startProcess({ id, slot, argv, env, cwd, pty }) {
  const pipes = takeSlot(slot);
  const failed = (error) =>
    report({ op: "failed", id, code: String(error.code), error: String(error.message) });
  if (!fs.existsSync(`${cwd}/.`)) {
    closeAll(pipes);
    return failed(Object.assign(new Error("it is no folder"), { code: "CWD" }));
  }
  const terminal = pty && { ready: false, size: undefined, busy: false };
  let child;
  try {
    child = pty ? spawnPty(argv, env, cwd, pty, pipes) : spawnPiped(argv, env, cwd, pipes);
  } catch (error) {
    return failed(error);
  } finally {
    closeAll(pipes);
  }
  child.on("error", (error) => {
    running.delete(id);
    failed(error);
  });
  if (child.pid === undefined) return;
  const target = { pid: child.pid, terminal };
  running.set(id, target);
  child.stdio[3]?.once("data", () => {
    terminal.ready = true;
    child.stdio[3].destroy();
    applySize(target);
  });
  child.on("exit", (code, signal) => {
    running.delete(id);
    report({ op: "exit", id, code, signal });
  });
  report({ op: "started", id, pid: child.pid });
}

/** Only a shell can set a limit; it would hide that there is no such program, so that Node says that. */
function spawnPiped(argv, env, cwd, stdio) {
  const options = { cwd, stdio, detached: true };
  if (SET_LIMIT === "" || !isProgram(argv[0], env, cwd))
    return spawn(argv[0], argv.slice(1), { ...options, env });
  const words = ["-c", `${SET_LIMIT} exec env -i "$@"`, "bash", ...wordsOf(env, argv)];
  return spawn("bash", ["--norc", "--noprofile", ...words], { ...options, env: { PATH: TOOL_PATH } });
}

/** What `env -i` takes. */
const wordsOf = (env, argv) => [...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...argv];

function isProgram(name, { PATH = "/usr/bin:/bin" }, cwd) {
  const files = name.includes("/") ? [name] : PATH.split(":").map((folder) => path.join(folder || ".", name));
  return files.some((file) =>
    attempt(() => fs.accessSync(path.resolve(cwd, file), fs.constants.X_OK) ?? true),
  );
}

function spawnPty(argv, env, cwd, { rows, cols }, [input, output]) {
  const child = spawn("script", ["-qefc", PTY_PROGRAM(rows, cols), "/dev/null"], {
    cwd,
    env: { PATH: TOOL_PATH, SHELL: bashPath() },
    stdio: [input, output, output, "pipe"],
    detached: true,
  });
  child.stdio[3]?.on("error", () => {});
  child.stdio[3]?.end(
    wordsOf(env, argv)
      .map((word) => `${word}\0`)
      .join(""),
  );
  return child;
}

function bashPath() {
  return (
    TOOL_PATH.split(":")
      .map((folder) => `${folder}/bash`)
      .find(fs.existsSync) ?? "/bin/bash"
  );
}

/** The process that `script` runs on its terminal. */
function terminalLeader(pid) {
  const children = attempt(() => fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
  return Number(children?.split(" ")[0] ?? 0);
}

function signalGroup(pid, signal) {
  if (pid > 1) attempt(() => process.kill(-pid, signal));
}

/** The groups of a process: that of what runs on its terminal, and its own. */
const groupsOf = ({ pid, terminal }) => (terminal ? [terminalLeader(pid), pid] : [pid]);

function signalProcess({ id, signal }) {
  const target = running.get(id);
  if (target === undefined) return;
  const [leader, ...rest] = groupsOf(target);
  signalGroup(leader || rest[0], signal);
}

function killProcess({ id }) {
  const target = running.get(id);
  if (target === undefined) return;
  const groups = groupsOf(target);
  for (const group of groups) signalGroup(group, "SIGHUP");
  setTimeout(() => groups.forEach((group) => signalGroup(group, "SIGKILL")), KILL_AFTER_MS).unref();
}

function resizeTerminal({ id, rows, cols }) {
  const target = running.get(id);
  if (!target?.terminal) return;
  target.terminal.size = { rows, cols };
  applySize(target);
}

/** One `stty` at a time, with the size that was asked for last. */
function applySize(target) {
  const { terminal } = target;
  const { size } = terminal;
  if (!terminal.ready || terminal.busy || size === undefined) return;
  terminal.size = undefined;
  const device = attempt(() => fs.readlinkSync(`/proc/${terminalLeader(target.pid)}/fd/0`));
  if (!device?.startsWith("/dev/pts/")) return;
  terminal.busy = true;
  const done = () => {
    terminal.busy = false;
    applySize(target);
  };
  const stty = spawn("stty", ["-F", device, "rows", String(size.rows), "cols", String(size.cols)], {
    stdio: "ignore",
  });
  stty.once("error", done);
  stty.once("exit", done);
}

// ---- connections: a socket spliced into the first two pipes of a slot ----

/** Copies between a socket and a slot; `exit` says code 1 when the socket was reset. */
function splice(socket, slot, id) {
  const [input, output, errors] = takeSlot(slot);
  fs.closeSync(errors);
  const toSocket = new net.Socket({ fd: input, readable: true, writable: false });
  const fromSocket = new net.Socket({ fd: output, readable: false, writable: true });
  let code = 0;
  socket.on("error", () => (code = 1));
  for (const pipe of [toSocket, fromSocket]) pipe.on("error", () => socket.destroy());
  toSocket.pipe(socket);
  socket.pipe(fromSocket);
  socket.on("close", () => {
    toSocket.destroy();
    if (code === 1) report({ op: "exit", id, code });
    fromSocket.end(() => code === 0 && report({ op: "exit", id, code }));
  });
}

function connectTo({ id, slot, port }) {
  const hosts = ["127.0.0.1", "::1"];
  const tryHost = (index) => {
    const socket = net.connect({ host: hosts[index], port, allowHalfOpen: true });
    socket.once("error", (error) => {
      if (error.code === "ECONNREFUSED" && index + 1 < hosts.length) return tryHost(index + 1);
      closeAll(takeSlot(slot));
      report({ op: "failed", id, code: String(error.code), error: String(error.message) });
    });
    socket.once("connect", () => {
      socket.removeAllListeners("error");
      socket.setNoDelay(true);
      report({ op: "started", id, pid: 0 });
      splice(socket, slot, id);
    });
  };
  tryHost(0);
}

/** Connections to a listener that the host has not answered yet. */
const waiting = new Map();
let nextIncoming = 0;

function listen({ name, port }) {
  const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    const id = nextIncoming++;
    waiting.set(id, socket);
    socket.on("error", () => waiting.delete(id));
    socket.on("close", () => waiting.delete(id));
    report({ op: "incoming", id, name });
  });
  server.on("error", (error) => report({ op: "unlistened", name, error: String(error.message) }));
  server.listen({ host: "127.0.0.1", port, backlog: 128 }, () => report({ op: "listening", name }));
}

function accept({ id, slot }) {
  const socket = waiting.get(id);
  waiting.delete(id);
  if (socket === undefined) {
    closeAll(takeSlot(slot));
    return report({ op: "exit", id: `in${id}`, code: 1 });
  }
  socket.removeAllListeners("error");
  socket.setNoDelay(true);
  splice(socket, slot, `in${id}`);
  socket.resume();
}

function refuse({ id }) {
  waiting.get(id)?.resetAndDestroy();
  waiting.delete(id);
}

// ---- orders ----

const ORDERS = {
  start: startProcess,
  signal: signalProcess,
  kill: killProcess,
  resize: resizeTerminal,
  connect: connectTo,
  listen,
  accept,
  refuse,
};

function fatal(error) {
  fs.writeSync(2, `${error.stack}\n`);
  end();
}

/** What the serving process had open without the close-on-exec flag came along; nothing started here may have it. */
function closeInherited() {
  for (const name of fs.readdirSync("/proc/self/fdinfo")) {
    // The descriptor that listed the folder is gone by now.
    const info = attempt(() => fs.readFileSync(`/proc/self/fdinfo/${name}`, "utf8"));
    const flags = Number.parseInt(/^flags:\s+(\d+)/m.exec(info ?? "")?.[1] ?? "", 8);
    if (Number(name) > 2 && info !== undefined && (flags & 0o2000000) === 0) fs.closeSync(Number(name));
  }
}

process.on("uncaughtException", fatal);
closeInherited();

/** Chunks of an order whose end has not come yet: an order may hold megabytes of argv. */
let partial = [];
const orders = new net.Socket({ fd: 0, readable: true, writable: false });
orders.setEncoding("utf8").on("data", (text) => {
  const lines = text.split("\n");
  if (lines.length > 1) {
    lines[0] = partial.join("") + lines[0];
    partial = [];
  }
  partial.push(lines.pop());
  for (const line of lines) {
    const order = JSON.parse(line);
    ORDERS[order.op](order);
  }
});
orders.on("end", end);
orders.on("error", end);
refill();
report({ op: "ready" });
