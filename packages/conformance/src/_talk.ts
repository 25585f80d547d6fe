import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@envport/wire";
import { isJsonObject } from "@envport/wire";
import type { Patience } from "./_patience.ts";
import type { Address } from "./_raw_connection.ts";
import { RawConnection } from "./_raw_connection.ts";

/** What an error frame must say. */
export interface WantedError {
  code: number;
  /** Words that its message has. */
  words?: string | RegExp;
  /** The `type` in its data. */
  type?: string;
}

/** The error of a reply. */
export interface ErrorFrame {
  code: number;
  message: string;
  data: JsonObject;
}

/** A conversation on one connection in lines of JSON, and what is wrong with the other side's part of it. */
export class Talk {
  readonly raw: RawConnection;
  /** The id of the session, once `hello` has told it. */
  sessionId = "";
  #lastId = 0;

  /** @param raw The connection. */
  constructor(raw: RawConnection) {
    this.raw = raw;
  }

  static async connect(address: Address, patience: Patience): Promise<Talk> {
    return new Talk(await RawConnection.connect(address, patience));
  }

  /** Sends lines in one packet; objects as compact JSON, text and bytes as they are. */
  send(...lines: (object | string | Uint8Array)[]): void {
    const encoded = lines.map((line) =>
      line instanceof Uint8Array ? line : Buffer.from(typeof line === "string" ? line : JSON.stringify(line)),
    );
    this.raw.write(Buffer.concat(encoded.flatMap((line) => [line, Buffer.from("\n")])));
    this.raw.lastSent = encoded.map((line) => Buffer.from(line).toString()).join(" and ");
  }

  /** Sends a request and returns the id that its reply must carry. */
  request(method: string, params?: unknown): number {
    const id = ++this.#lastId;
    this.send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
    return id;
  }

  /** The next line that comes, as text. */
  async line(expected = "a frame"): Promise<string> {
    const line = await this.raw.line(expected);
    if (line === undefined) throw this.raw.mismatch(expected, this.raw.describeEnd());
    return line.toString();
  }

  /** The next frame, whatever it is about. */
  async frame(expected = "a frame"): Promise<JsonObject> {
    const line = await this.line(expected);
    try {
      const value: unknown = JSON.parse(line);
      if (isJsonObject(value)) return value;
    } catch {
      // Told below.
    }
    throw this.raw.mismatch(`${expected}, as a JSON object on a line`, line);
  }

  /** The next frame, which must be the reply to a request. */
  async reply(
    id: number | string | null,
    expected = `the reply to id ${JSON.stringify(id)}`,
  ): Promise<JsonObject> {
    const frame = await this.frame(expected);
    if (frame["id"] === id && ("result" in frame || "error" in frame)) return frame;
    throw this.raw.mismatch(expected, JSON.stringify(frame));
  }

  /** Calls a method; the next frame must be its reply. */
  async call(method: string, params?: unknown): Promise<JsonObject> {
    return await this.reply(this.request(method, params));
  }

  /** The result of a request that was sent. */
  async resultOf(id: number | string): Promise<JsonObject> {
    const frame = await this.reply(id, `a result for id ${JSON.stringify(id)}`);
    if (isJsonObject(frame["result"])) return frame["result"];
    throw this.raw.mismatch(`a result for id ${JSON.stringify(id)}`, JSON.stringify(frame));
  }

  /** Calls a method that must succeed. */
  async result(method: string, params?: unknown): Promise<JsonObject> {
    return await this.resultOf(this.request(method, params));
  }

  /** Calls a method whose result must be this, members and values. */
  async exactly(method: string, params: unknown, result: JsonObject): Promise<void> {
    const got = await this.result(method, params);
    if (!isDeepStrictEqual(got, result)) {
      throw this.raw.mismatch(`the result ${JSON.stringify(result)}`, JSON.stringify(got));
    }
  }

  /** The error of a request that was sent, or of one that has no id of its own. */
  async errorOf(id: number | string | null, wanted: WantedError): Promise<ErrorFrame> {
    const expected = describeError(wanted, id);
    return this.checkError(await this.reply(id, expected), wanted, expected);
  }

  /** Calls a method that must fail. */
  async error(method: string, params: unknown, wanted: WantedError): Promise<ErrorFrame> {
    return await this.errorOf(this.request(method, params), wanted);
  }

  /** What is wrong with an error frame, if anything is. */
  checkError(
    frame: JsonObject,
    wanted: WantedError,
    expected: string = describeError(wanted, null),
  ): ErrorFrame {
    const { error } = frame;
    if (isJsonObject(error)) {
      const { code, message, data } = error;
      const facts = isJsonObject(data) ? data : {};
      const fits =
        code === wanted.code &&
        typeof message === "string" &&
        hasWords(message, wanted.words) &&
        (wanted.type === undefined || facts["type"] === wanted.type);
      if (fits) return { code: wanted.code, message, data: facts };
    }
    throw this.raw.mismatch(expected, JSON.stringify(frame));
  }

  /** Says hello and notes the session's id. */
  async hello(params: JsonObject = {}): Promise<JsonObject> {
    const result = await this.result("hello", params);
    const id = result["session_id"];
    if (typeof id !== "string") throw this.raw.mismatch("a session_id in the result", JSON.stringify(result));
    this.sessionId = id;
    return result;
  }

  /** Starts a task and returns its prompt. */
  async start(id: string, args?: JsonObject): Promise<unknown> {
    return (await this.result("tasks.start", args === undefined ? { id } : { id, args }))["prompt"];
  }

  /** Checks that the connection ends, and that no frame comes before. */
  async closed(expected = "the end of the connection"): Promise<void> {
    const { bytes } = await this.raw.rest(expected);
    if (bytes.length > 0) throw this.raw.mismatch(expected, bytes.toString());
  }

  /** Checks something of what came. */
  check(holds: boolean, expected: string, got: unknown): void {
    if (holds) return;
    const text = got === undefined ? "nothing" : typeof got === "string" ? got : JSON.stringify(got);
    throw this.raw.mismatch(expected, text);
  }

  /** Ends this direction and waits until the server has ended its own: it has noticed then. */
  async leave(): Promise<void> {
    this.raw.end();
    await this.raw.rest("the server's end after the client's");
    this.raw.destroy();
  }
}

function describeError({ code, words, type }: WantedError, id: unknown): string {
  const message =
    words === undefined ? "" : ` with ${words instanceof RegExp ? String(words) : JSON.stringify(words)}`;
  return `error ${String(code)}${message}${type === undefined ? "" : `, type ${type}`}, id ${JSON.stringify(id)}`;
}

function hasWords(message: string, words: string | RegExp | undefined): boolean {
  if (words === undefined) return true;
  return typeof words === "string" ? message.includes(words) : words.test(message);
}
