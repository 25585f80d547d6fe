/** Services behind a served environment, and a proxy that breaks connections. */
import { connect } from "@envport/client";
import type { Client } from "@envport/client";
import { Environment, serve } from "@envport/server";
import type { Capability, Logger, Service } from "@envport/wire";
import { once } from "node:events";
import net from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";
import { everything } from "./_testing_everything.ts";
import { mcpServer } from "./mcp_server.ts";
import type { McpService } from "./mcp_service.ts";
import type { McpServiceOptions } from "./mcp_service_options.ts";

export const silent: Logger = { log: () => undefined };

/** Starts a service that is stopped when the test ends. */
export async function started(
  server: Parameters<typeof mcpServer>[0] = () => everything(),
  options: McpServiceOptions = {},
): Promise<McpService> {
  const service = mcpServer(server, { logger: silent, ...options });
  onTestFinished(() => service.stop());
  await service.start();
  return service;
}

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

/** A loopback port whose connections can be cut, held and refused. */
export interface Proxy {
  readonly port: number;
  /** How many connections there have been. */
  readonly accepted: number;
  /** How many there are. */
  readonly open: number;
  /** Resets all connections, or lets the server's side of them believe that they are alive. */
  cut(options?: { halfOpen?: boolean }): void;
  /** Whether new connections are reset at once. */
  refusing: boolean;
  /** The port that new connections go to. */
  target: number;
}

/** Opens a port that leads to another one, until the test ends. */
export async function proxied(target: number): Promise<Proxy> {
  const pairs = new Set<[Socket, Socket]>();
  let accepted = 0;
  const listener = net.createServer({ noDelay: true }, (near) => {
    near.on("error", () => undefined);
    if (proxy.refusing) return void near.resetAndDestroy();
    accepted++;
    const far = net.connect({ port: proxy.target, host: "127.0.0.1", noDelay: true });
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    near.pipe(far).pipe(near);
    for (const side of pair) {
      side
        .on("error", () => undefined)
        .on("close", () => {
          pairs.delete(pair);
          if (!side.errored && side !== far) far.destroy();
          if (side === far) near.destroy();
        });
    }
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const held: Socket[] = [];
  const proxy: Proxy = {
    port,
    refusing: false,
    target,
    get accepted() {
      return accepted;
    },
    get open() {
      return pairs.size;
    },
    cut: ({ halfOpen = false } = {}) => {
      for (const [near, far] of pairs) {
        if (halfOpen) {
          near.unpipe(far);
          far.unpipe(near);
          near.removeAllListeners("close");
          held.push(far);
        } else far.resetAndDestroy();
        near.resetAndDestroy();
      }
      pairs.clear();
    },
  };
  onTestFinished(() => {
    proxy.cut();
    for (const socket of held) socket.destroy();
    listener.close();
  });
  return proxy;
}

/** The same capability at another port. */
export function at(port: number, capability: Capability): Capability {
  const url = new URL(capability.url);
  url.port = String(port);
  return { ...capability, url: url.href };
}

export function portOf({ url }: Capability): number {
  return Number(new URL(url).port);
}

/** Waits until something is so; the test's own time limit ends the wait. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}
