import { parseCapabilityUrl } from "@envport/wire";
import type { Address } from "./_raw_connection.ts";
import { BenchError } from "./bench_error.ts";

/**
 * Reads the address of a server under test.
 *
 * @param url `tcp://host:port`.
 * @throws {BenchError} If it is none.
 */
export function parseAddress(url: string | undefined): Address {
  try {
    const { scheme, host, port } = parseCapabilityUrl(url ?? "");
    if (scheme === "tcp" && port !== undefined) return { host, port };
  } catch {
    // Told below.
  }
  throw new BenchError(
    `Cannot use the address as it must be tcp://host:port: current value is ${JSON.stringify(url)}`,
  );
}
