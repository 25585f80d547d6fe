/** What {@linkcode BRIDGE} is told by its argument. */
export interface BridgeOrder {
  /** The browser's program and words. */
  readonly argv: readonly string[];
  /** The file in which the browser writes its port. */
  readonly portFile: string;
  /** The unix socket to listen on, for what is to reach that port. */
  readonly socket: string;
  /** Ports on the loopback inside, and the unix sockets that they lead to. */
  readonly roads: readonly { readonly port: number; readonly path: string }[];
}

/** What {@linkcode BRIDGE} says, in one line, once the socket listens. */
export interface BridgeReport {
  readonly port: number;
}

/**
 * The first program of a sandboxed browser: starts the browser, and carries connections between its network, which nobody
 * else is in, and unix sockets, which are in the file system. It ends with the browser.
 */
export const BRIDGE = `
const { createServer, connect } = require("node:net");
const { readFileSync } = require("node:fs");
const { spawn } = require("node:child_process");
const order = JSON.parse(process.argv[1]);
const options = { allowHalfOpen: true, noDelay: true };
const carry = (target) => (near) => {
  const far = connect({ ...target, ...options });
  near.on("error", () => far.destroy()).on("close", () => far.destroy()).pipe(far);
  far.on("error", () => near.destroy()).on("close", () => near.destroy()).pipe(near);
};
const listen = (server, ...where) =>
  new Promise((resolve, reject) => server.once("error", reject).listen(...where, resolve));
const run = async () => {
  for (const { port, path } of order.roads) await listen(createServer(options, carry({ path })), port, "127.0.0.1");
  const [program, ...words] = order.argv;
  const browser = spawn(program, words, { stdio: ["ignore", "ignore", "inherit"] });
  browser.once("error", (error) => { console.error(error.message); process.exit(127); });
  browser.once("exit", (code, signal) => { if (signal) console.error("ended by " + signal); process.exit(code ?? 1); });
  const look = () => {
    let port;
    try { port = /^(\\d+)\\n\\/devtools\\/browser\\/./.exec(readFileSync(order.portFile, "utf8"))?.[1]; } catch {}
    if (port === undefined) return void setTimeout(look, 20);
    listen(createServer(options, carry({ host: "127.0.0.1", port: Number(port) })), order.socket)
      .then(() => console.log(JSON.stringify({ port: Number(port) })));
  };
  look();
};
run().catch((error) => { console.error(error.message); process.exit(1); });
`;
