import type { JsonObject } from "@envport/wire";
import { isJsonObject } from "@envport/wire";
import type { RawConnection } from "../_raw_connection.ts";

/** A request that a client has sent. */
export interface ClientRequest {
  id: string | number;
  params: JsonObject;
}

/** What the bench, as the server, says of itself. */
export const SESSION_ID = "sess-00112233445566778899aabbccddeeff";

/** A binding on an address that nothing can reach but through the control port. */
export const ECHO = { name: "echo", protocol: "echo/1", url: "tcp://10.255.255.1:7", params: {} };

/** The reply to `hello` of a server that knows nothing but the base contract. */
export const OLD_HELLO: JsonObject = {
  session_id: SESSION_ID,
  env: { name: "bench", version: "1.0.0" },
  bindings: [ECHO],
};

/** The reply to `hello` of a server that can do everything. */
export const HELLO: JsonObject = {
  ...OLD_HELLO,
  protocol: "envport/1",
  capabilities: { cancel: true, ping: true, progress: true, replay: true, takeover: true, flying: true },
};

/** The bench's side of a connection that a client has opened. */
export class ServedTalk {
  readonly raw: RawConnection;
  readonly #ids = new Set<unknown>();

  /** @param raw The accepted connection. */
  constructor(raw: RawConnection) {
    this.raw = raw;
    raw.lastSent = "nothing yet";
  }

  /** The next line that the client sends. */
  async line(expected: string): Promise<string> {
    const line = await this.raw.line(expected);
    if (line === undefined) throw this.raw.mismatch(expected, this.raw.describeEnd());
    return line.toString();
  }

  /** The next request, which must call a method. */
  async request(method: string): Promise<ClientRequest> {
    const expected = `a request of ${method} with a fresh id`;
    const line = await this.line(expected);
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      // Told below.
    }
    const frame = isJsonObject(value) ? value : {};
    const { id, params } = frame;
    const valid = (typeof id === "string" || Number.isSafeInteger(id)) && !this.#ids.has(id);
    if (frame["method"] !== method || !valid) throw this.raw.mismatch(expected, line);
    this.#ids.add(id);
    return { id: id as string | number, params: isJsonObject(params) ? params : {} };
  }

  /** Answers a request. */
  answer({ id }: ClientRequest, result: JsonObject): void {
    this.send({ jsonrpc: "2.0", id, result });
  }

  /** Refuses a request. */
  refuse({ id }: ClientRequest, code: number, message: string): void {
    this.send({ jsonrpc: "2.0", id, error: { code, message } });
  }

  /** Sends a frame. */
  send(frame: object): void {
    this.raw.write(`${JSON.stringify(frame)}\n`);
    this.raw.lastSent = JSON.stringify(frame);
  }

  /** Waits for the client's end of the connection, before which nothing may come. */
  async closed(expected: string): Promise<void> {
    const { bytes } = await this.raw.rest(expected);
    if (bytes.length > 0) throw this.raw.mismatch(expected, bytes.toString());
  }
}
