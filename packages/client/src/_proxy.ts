import http from "node:http";
import type net from "node:net";
import { EnvportError } from "@envport/wire";
import { dialSocket } from "./_dial_socket.ts";
import { dialTls } from "./_dial_tls.ts";

/** Where a connection should lead. */
interface Target {
  readonly host: string;
  readonly port: number;
}

/**
 * The HTTP proxy of a connection: the one that is named, or that of the environment's `HTTPS_PROXY`, unless `NO_PROXY` has
 * the host. Loopback addresses never go through the environment's.
 *
 * @param target Where the connection should lead.
 * @param option A url; true: the environment's, for every transport; false: none; undefined: the environment's for wss.
 * @throws {TypeError} If the url cannot be read.
 */
export function findProxy(
  { scheme, host, port }: Target & { scheme: string },
  option: string | boolean | undefined,
): URL | undefined {
  if (option === false || (option === undefined && scheme !== "wss")) return undefined;
  if (typeof option === "string") return parseProxy(option, "proxy");
  const name = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"].find((one) => process.env[one]);
  if (name === undefined || isLoopback(host) || isExempt(host, port)) return undefined;
  return parseProxy(process.env[name]!, name);
}

function parseProxy(url: string, name: string): URL {
  try {
    const parsed = new URL(url.includes("://") ? url : `http://${url}`);
    if (["http:", "https:"].includes(parsed.protocol)) return parsed;
  } catch {
    // Said below.
  }
  // It may hold a password: it is not shown.
  throw new TypeError(`Cannot use '${name}' as it must be the url of an HTTP proxy: http://host:port`);
}

/** `NO_PROXY`: names and their subdomains, addresses, `host:port`, `*`. */
function isExempt(host: string, port: number): boolean {
  const list = (process.env["NO_PROXY"] ?? process.env["no_proxy"] ?? "").toLowerCase().split(/[\s,]+/);
  return list.filter(Boolean).some((entry) => {
    if (entry === "*") return true;
    const [, name, digits] = /^\*?\.?(.*?)(?::(\d+))?$/.exec(entry)!;
    if (digits !== undefined && Number(digits) !== port) return false;
    return host === name || host.endsWith(`.${name!}`);
  });
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\./.test(host);
}

/**
 * Asks an HTTP proxy for a connection (RFC 9110, CONNECT).
 *
 * @param proxy The proxy, with user name and password if it wants them.
 * @param target Where the connection should lead.
 * @param signal Gives up.
 * @throws {EnvportError} `connection-lost` If the proxy cannot reach it now, `authentication-failed` if it refuses.
 */
export async function connectThroughProxy(
  proxy: URL,
  { host, port }: Target,
  signal: AbortSignal | undefined,
): Promise<net.Socket> {
  const isSecure = proxy.protocol === "https:";
  const proxyHost = proxy.hostname.replace(/^\[|\]$/g, "");
  const raw = await dialSocket(
    { host: proxyHost, port: Number(proxy.port) || (isSecure ? 443 : 80) },
    signal,
  );
  const socket = isSecure ? await dialTls(raw, proxyHost, { signal }) : raw;
  const path = `${host.includes(":") ? `[${host}]` : host}:${String(port)}`;
  const giveUp = (): void => void socket.destroy();
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      const headers = { Host: path, ...authorization(proxy) };
      const request = http.request({ method: "CONNECT", path, headers, createConnection: () => socket });
      request.once("error", reject);
      request.once("connect", ({ statusCode = 0 }, connected, head) => {
        if (head.length > 0) connected.unshift(head);
        if (statusCode === 200) resolve();
        else reject(refusal(proxy, path, statusCode));
      });
      request.once("response", ({ statusCode = 0 }) => reject(refusal(proxy, path, statusCode)));
      request.end();
    });
  } catch (error) {
    socket.destroy();
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
  return socket;
}

function authorization({ username, password }: URL): Record<string, string> {
  if (username === "" && password === "") return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "Proxy-Authorization": `Basic ${Buffer.from(credentials).toString("base64")}` };
}

function refusal({ host }: URL, target: string, status: number): EnvportError {
  const isRefusal = [401, 403, 405, 407].includes(status);
  return new EnvportError(
    isRefusal ? "authentication-failed" : "connection-lost",
    `Cannot reach ${target} as the proxy ${host} answered with HTTP ${String(status)}`,
  );
}
