import { EnvportError } from "@envport/wire";
import type { AbortOptions } from "@envport/wire";
import { WebSocket } from "ws";
import type { RawData } from "ws";

/** What a bridge's text is cut to: it may be a whole traceback. */
const MAX_TEXT = 4_000;

/** Limits of an {@linkcode AgentSocket}. */
interface AgentSocketOptions {
  readonly maxFrameBytes: number;
  /** For the handshake, in milliseconds. */
  readonly timeout: number;
}

/**
 * An agent's WebSocket: frames one by one while it is being connected, then as they come. A text is an error of the other
 * side, and the end.
 */
export class AgentSocket {
  readonly #ws: WebSocket;
  readonly #frames: Uint8Array[] = [];
  #reason: EnvportError | undefined;
  #onFrame: ((bytes: Uint8Array) => void) | undefined;
  #onEnd: ((reason: EnvportError) => void) | undefined;
  #wake: (() => void) | undefined;
  #claimed = false;

  constructor(url: string, { maxFrameBytes, timeout }: AgentSocketOptions) {
    // Compression is offered by default, and a peer takes it: it costs ten times the rest of a step.
    this.#ws = new WebSocket(url, {
      perMessageDeflate: false,
      maxPayload: maxFrameBytes,
      handshakeTimeout: timeout,
      followRedirects: false,
    });
    this.#ws.on("message", (data, isBinary) => this.#receive(data, isBinary));
    this.#ws.on("error", (error) => this.#fail(describe(error, url, maxFrameBytes)));
    this.#ws.on("close", (code, reason) => {
      this.#fail(
        new EnvportError(
          "connection-lost",
          `Cannot go on as the robot environment closed the connection: ${String(code)} ${String(reason)}`.trimEnd(),
        ),
      );
    });
  }

  /** The next frame, or the error of a text; only before `listen`. */
  async next(what: string, { timeout, signal }: { timeout: number } & AbortOptions): Promise<Uint8Array> {
    signal?.throwIfAborted();
    const wake = (): void => this.#wake?.();
    signal?.addEventListener("abort", wake);
    const timer = setTimeout(() => {
      const message = `Cannot connect to robot as ${what} must arrive within ${String(timeout)} ms`;
      this.#fail(new EnvportError("timeout", message));
    }, timeout);
    try {
      while (this.#frames.length === 0) {
        signal?.throwIfAborted();
        if (this.#reason) throw this.#reason;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
      return this.#frames.shift()!;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", wake);
    }
  }

  /** Hands over what comes from now on, and what has come. */
  listen(onFrame: (bytes: Uint8Array) => void, onEnd: (reason: EnvportError) => void): void {
    this.#onFrame = onFrame;
    this.#onEnd = onEnd;
    for (const frame of this.#frames.splice(0)) onFrame(frame);
    if (this.#reason) onEnd(this.#reason);
  }

  /** Resolves once the operating system has the frame. */
  async send(bytes: Uint8Array): Promise<void> {
    if (this.#reason) throw this.#reason;
    this.#claimed = true;
    await new Promise<void>((resolve, reject) => {
      this.#ws.send(bytes, { binary: true }, (error) => {
        if (!error) resolve();
        else
          reject(
            this.#reason ??
              new EnvportError("connection-lost", "Cannot send as the connection was lost", { cause: error }),
          );
      });
    });
  }

  /** Says good-bye, and waits for the answer no longer than that. */
  async close(timeout: number): Promise<void> {
    if (this.#ws.readyState === WebSocket.CLOSED) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#ws.terminate(), timeout);
      this.#ws.once("close", () => {
        clearTimeout(timer);
        resolve();
      });
      this.#ws.close(1000);
    });
  }

  /** Ends it at once. */
  terminate(): void {
    this.#ws.terminate();
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (!isBinary) {
      const text = (data as Buffer).toString().slice(0, MAX_TEXT);
      // Before the first observation it is the answer to the claim.
      const code = this.#claimed && !this.#onFrame ? "authentication-failed" : "connection-lost";
      this.#fail(new EnvportError(code, `Cannot go on as the robot environment says: ${text}`));
      this.#ws.close();
      return;
    }
    if (this.#onFrame) this.#onFrame(data as Buffer);
    else this.#frames.push(data as Buffer);
    this.#wake?.();
  }

  #fail(reason: EnvportError): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#onEnd?.(reason);
    this.#wake?.();
  }
}

function describe(error: Error, url: string, maxFrameBytes: number): EnvportError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") {
    return new EnvportError(
      "invalid-value",
      `Cannot take frame as it must have at most ${String(maxFrameBytes)} bytes ('maxFrameBytes'): current value is larger`,
      { cause: error },
    );
  }
  const [where = ""] = url.split(/[?#]/, 1);
  return new EnvportError("connection-lost", `Cannot reach robot at ${where}: ${code ?? message}`, {
    cause: error,
  });
}
