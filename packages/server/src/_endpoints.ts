import type { EndpointUrl } from "@envport/wire";
import { formatEndpointUrl, parseEndpointUrl } from "@envport/wire";
import { checkNumber } from "./_limits.ts";
import type { ServeOptions } from "./serve.ts";

/**
 * Where to listen, and whether that is allowed (CONN-6).
 *
 * @param options The addresses, and what lets only some in.
 * @throws {TypeError} If an address cannot be read, needs keys that are not there, or would let everyone in.
 */
export function resolveEndpoints(options: ServeOptions): EndpointUrl[] {
  const { listen, host, port, tls } = options;
  if (listen !== undefined && (host !== undefined || port !== undefined)) {
    throw new TypeError(
      "Cannot serve as 'listen' takes the place of 'host' and 'port': give one or the other",
    );
  }
  checkNumber("port", port ?? 0, 65_535);
  const urls = typeof listen === "string" ? [listen] : listen;
  if (urls?.length === 0)
    throw new TypeError("Cannot serve as 'listen' must name an address: current value is []");
  const endpoints: EndpointUrl[] = urls?.map(parseEndpointUrl) ?? [
    { scheme: "tcp", host: host ?? "127.0.0.1", port: port ?? 0 },
  ];
  for (const endpoint of endpoints) {
    if ((endpoint.scheme === "tls" || endpoint.scheme === "wss") && !tls) {
      throw new TypeError(
        `Cannot serve on ${formatEndpointUrl(endpoint)} as 'tls' must have a key and a certificate: current value is undefined`,
      );
    }
    if (!isShielded(endpoint, options)) {
      throw new TypeError(
        `Cannot serve on host '${"host" in endpoint ? endpoint.host : ""}' as everyone who reaches it could run tasks: bind 127.0.0.1, set tokens, ask for client certificates (tls.ca), or pass insecure: true in a container that is shielded otherwise`,
      );
    }
  }
  return endpoints;
}

function isShielded(endpoint: EndpointUrl, { insecure, tokens, tls }: ServeOptions): boolean {
  if (insecure || tokens || endpoint.scheme === "unix" || isLoopback(endpoint.host)) return true;
  return (endpoint.scheme === "tls" || endpoint.scheme === "wss") && tls?.ca !== undefined;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
