import { lookup } from "node:dns/promises";
import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import type { AbortOptions, ByteStream, Capability } from "@envport/wire";
import { EnvportError, isJsonObject, own, parseCapabilityUrl } from "@envport/wire";

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** Where a browser is, as a binding tells it. */
export interface CdpEndpoint {
  /** What errors call it. */
  readonly name: string;
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** Path and query of a socket that is to be taken as it is; else it has to be asked for. */
  readonly path: string | undefined;
  readonly targetId: string | undefined;
  /** Host and port of the binding's own URL, for certificates and the `Host` of encrypted connections. */
  readonly authority: string | undefined;
  /** Opens a stream to it, where that need not be a connection to host and port. */
  readonly dial: ((options?: AbortOptions) => Promise<ByteStream>) | undefined;
}

/**
 * Reads a binding of the family `cdp`: bare host and port, `http`, a whole `/devtools/` path, or any other path of a
 * WebSocket, such as a browser service has.
 *
 * @param capability Its URL can be dialled from here.
 * @param options Host and port of the binding's own URL, where the capability's leads to a forwarder; how to dial.
 * @throws {EnvportError} `invalid-value` If it is no such binding.
 */
export function cdpEndpoint(
  { name, protocol, url, params }: Capability,
  { authority, dial }: { authority?: string | undefined; dial?: CdpEndpoint["dial"] },
): CdpEndpoint {
  const fail = (rule: string, value: unknown): never => {
    throw new EnvportError(
      "invalid-value",
      `Cannot use binding '${name}' as ${rule}: current value is ${JSON.stringify(value)}`,
    );
  };
  if (!/^cdp(?:\/|$)/.test(protocol)) fail("it must be of the family cdp", protocol);
  const { scheme, host, port, rest } = parseCapabilityUrl(url);
  if (!/^(?:ws|http)s?$/.test(scheme)) fail("its url must be ws, wss, http or https", scheme);
  const asked = own(params, "target_id") ?? undefined;
  if (asked !== undefined && (typeof asked !== "string" || asked === "")) {
    fail("'target_id' must be a non-empty string", asked);
  }
  const [, pageId] = /^\/devtools\/page\/([^/?#]+)/.exec(rest) ?? [];
  const isSocket = /^\/devtools\/browser\/./.test(rest) || (scheme.startsWith("ws") && /[^/]/.test(rest));
  const secure = scheme === "wss" || scheme === "https";
  return {
    name,
    secure,
    host,
    port: port ?? 9222,
    path: pageId === undefined && isSocket ? rest.replace(/#.*$/, "") : undefined,
    targetId: (asked as string | undefined) ?? pageId,
    authority,
    dial: secure ? undefined : dial,
  };
}

/** A socket for one request, where the endpoint is not connected to by host and port. */
export async function dialled(
  { name, dial }: CdpEndpoint,
  signal: AbortSignal | undefined,
): Promise<{ createConnection?: () => ByteStream }> {
  if (!dial) return {};
  try {
    const stream = await dial({ signal });
    return {
      createConnection: () => {
        // It comes paused, and stays so until whoever asked for it listens.
        setImmediate(() => stream.resume());
        return stream;
      },
    };
  } catch (error) {
    signal?.throwIfAborted();
    throw new EnvportError(
      "connection-lost",
      `Cannot connect to browser '${name}' as its stream could not be opened: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/**
 * The URL of the browser's socket. Browsers answer with the address that they believe to have, so that its path alone is
 * kept; they refuse host names, so that one is resolved.
 *
 * @param endpoint Where to ask.
 * @param timeout Milliseconds that the answer may take.
 * @param signal Gives up.
 * @throws {EnvportError} `connection-lost`, `timeout`, or `unsupported` if no browser answers there.
 */
export async function browserSocketUrl(
  endpoint: CdpEndpoint,
  timeout: number,
  signal: AbortSignal,
): Promise<string> {
  const { secure, port, path } = endpoint;
  const host = await reachableHost(endpoint);
  const address = `${host.includes(":") ? `[${host}]` : host}:${String(port)}`;
  const socket = `${secure ? "wss" : "ws"}://${address}`;
  if (path !== undefined) return `${socket}${path.startsWith("/") ? "" : "/"}${path}`;
  const version = await getJson(endpoint, host, "/json/version", { timeout, signal });
  const found = isJsonObject(version) ? own(version, "webSocketDebuggerUrl") : undefined;
  const [, itsPath] = /^wss?:\/\/[^/]*(\/.+)$/.exec(typeof found === "string" ? found : "") ?? [];
  if (itsPath === undefined) throw noBrowser(endpoint, "it names no socket");
  return socket + itsPath;
}

/** What encrypted connections need to reach the binding's own host through a forwarder. */
export function tlsOptions({ secure, authority }: CdpEndpoint): { servername?: string; headers?: object } {
  if (!secure || authority === undefined) return {};
  const host = authority.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  return { headers: { host: authority }, ...(isIP(host) === 0 ? { servername: host } : {}) };
}

async function reachableHost({ name, host, secure, dial }: CdpEndpoint): Promise<string> {
  if (secure || dial !== undefined || isIP(host) !== 0 || host === "localhost" || host.endsWith(".localhost"))
    return host;
  try {
    return (await lookup(host)).address;
  } catch (error) {
    throw new EnvportError(
      "connection-lost",
      `Cannot connect to browser '${name}' as '${host}' has no address`,
      {
        cause: error,
      },
    );
  }
}

async function getJson(
  endpoint: CdpEndpoint,
  host: string,
  path: string,
  { timeout, signal }: { timeout: number; signal: AbortSignal },
): Promise<unknown> {
  const { name, port, secure } = endpoint;
  const road = endpoint.dial ? await dialled(endpoint, signal) : { agent: false };
  return await new Promise((resolve, reject) => {
    const options = { host, port, path, signal, ...road, ...tlsOptions(endpoint) };
    const request = (secure ? https : http).get(options as https.RequestOptions, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        if (text.length > MAX_ANSWER_BYTES) response.destroy(new Error("the answer has no end"));
      });
      response.once("error", fail).once("end", () => {
        clearTimeout(timer);
        if (response.statusCode !== 200) {
          reject(noBrowser(endpoint, `HTTP ${String(response.statusCode)} to GET ${path}`));
          return;
        }
        try {
          resolve(JSON.parse(text));
        } catch {
          reject(noBrowser(endpoint, "its answer is no JSON"));
        }
      });
    });
    const timer = setTimeout(() => {
      request.destroy();
      reject(
        new EnvportError(
          "timeout",
          `Cannot connect to browser '${name}' as GET ${path} was not answered within ${String(timeout)} ms`,
        ),
      );
    }, timeout);
    function fail(error: Error): void {
      clearTimeout(timer);
      if (signal.aborted) reject(signal.reason as Error);
      reject(
        new EnvportError("connection-lost", `Cannot connect to browser '${name}' as ${error.message}`, {
          cause: error,
        }),
      );
    }
    request.once("error", fail);
  });
}

function noBrowser({ name }: CdpEndpoint, why: string): EnvportError {
  return new EnvportError(
    "unsupported",
    `Cannot connect to browser '${name}' as what listens there does not list itself as one (${why}); a browser whose debugging was switched on by hand has to be named by its whole url, ws://host:port/devtools/browser/<id>`,
  );
}
