import type { AbortOptions, ReleasedStream } from "@envport/wire";
import { EnvportError, FramedStream, encodeFrame, parseFrame, readReply } from "@envport/wire";
import type { Endpoint } from "./_dial.ts";

/** How long the server may take to answer `tunnel.open`, in milliseconds: its own dial time-out and some. */
const OPEN_TIMEOUT_MS = 15_000;
/** The id of the one request. */
const REQUEST_ID = 1;

/**
 * Opens one capability stream: a connection of its own, whose first frame names the capability (CONN-1).
 *
 * @param endpoint The control port.
 * @param capability The name of the binding.
 * @param options A signal that gives up.
 * @returns The stream, and the bytes that came with the reply (FRAME-3).
 * @throws {ProtocolError} If the server refuses.
 * @throws {EnvportError} If it does not answer (`timeout`, `connection-lost`), or to something else
 *   (`protocol-violation`).
 */
export async function openTunnel(
  endpoint: Endpoint,
  capability: string,
  { signal }: AbortOptions = {},
): Promise<ReleasedStream> {
  const timeout = AbortSignal.timeout(OPEN_TIMEOUT_MS);
  const combined = AbortSignal.any(signal ? [signal, timeout] : [timeout]);
  try {
    return await ask(endpoint, capability, combined);
  } catch (error) {
    if (error !== timeout.reason) throw error;
    throw new EnvportError(
      "timeout",
      `Cannot open '${capability}' as the server did not answer within ${String(OPEN_TIMEOUT_MS / 1000)} s`,
      { cause: error },
    );
  }
}

async function ask(endpoint: Endpoint, capability: string, signal: AbortSignal): Promise<ReleasedStream> {
  const stream = await endpoint.dial({ signal });
  try {
    const framed = new FramedStream(stream);
    const params = { capability, ...endpoint.credentials };
    stream.write(encodeFrame({ id: REQUEST_ID, method: "tunnel.open", params }));
    const line = await framed.read({ signal });
    if (line === undefined) {
      throw new EnvportError(
        "connection-lost",
        `Cannot open '${capability}' as the server closed the connection`,
      );
    }
    const { id, error } = readReply(parseFrame(line));
    if (error) throw error;
    if (id !== REQUEST_ID) {
      throw new EnvportError("protocol-violation", `Cannot match reply as no call has id ${String(id)}`);
    }
    return framed.release();
  } catch (error) {
    stream.destroy();
    throw error;
  }
}
