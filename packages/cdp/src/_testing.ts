/** Browsers of the service behind a served environment, sites for them, and a program that is killed. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "@envport/client";
import type { Client } from "@envport/client";
import { Environment, serve } from "@envport/server";
import type { Capability, Logger, Service } from "@envport/wire";
import { onTestFinished } from "vitest";

export const silent: Logger = { log: () => undefined };

/** An environment with this in it, served, and a client of it; both are closed when the test ends. */
export async function tunnelled(...things: (Service | Capability)[]): Promise<Client> {
  const env = new Environment({ name: "test" });
  for (const thing of things) {
    if ("start" in thing) env.use(thing);
    else env.addCapability(thing);
  }
  const server = await serve(env, { logger: silent });
  onTestFinished(() => server.close());
  const client = await connect(server.url, { logger: silent });
  onTestFinished(() => client.close());
  return client;
}

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
