/** Browsers of the service behind a served environment, sites for them, and a program that is killed. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect as connectTcp, createServer as createTcpServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import type { Logger } from "@envport/wire";

export const silent: Logger = { log: () => undefined };

/** A web site on the loopback. */
export interface Site extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Paths that were asked for. */
  readonly seen: string[];
}

/** Serves pages; what a path has no page for is answered by `handle`, or with 404. */
export async function serveSite(
  pages: Record<string, string>,
  handle: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    response.writeHead(404).end(),
): Promise<Site> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const [path = "/"] = (request.url ?? "/").split("?");
    seen.push(path);
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    if (page === undefined) handle(request, response);
    else response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${String(port)}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A way to the control port that can be broken. */
export interface Detour extends AsyncDisposable {
  readonly url: string;
  /** Resets every connection but the first, which is the control connection. */
  cutTunnels(): void;
}

/** Opens a port that leads to a control port. */
export async function detourTo(url: string): Promise<Detour> {
  const pairs: [Socket, Socket][] = [];
  const listener = createTcpServer({ noDelay: true }, (near) => {
    const far = connectTcp({ port: Number(url.split(":").at(-1)), host: "127.0.0.1", noDelay: true });
    pairs.push([near, far]);
    near.on("error", () => far.destroy()).pipe(far);
    far.on("error", () => near.destroy()).pipe(near);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const cut = (from: number): void => {
    for (const side of pairs.slice(from).flat()) if (!side.destroyed) side.resetAndDestroy();
  };
  return {
    url: `tcp://127.0.0.1:${String((listener.address() as AddressInfo).port)}`,
    cutTunnels: () => cut(1),
    [Symbol.asyncDispose]: async () => {
      cut(0);
      listener.close();
      await once(listener, "close");
    },
  };
}
