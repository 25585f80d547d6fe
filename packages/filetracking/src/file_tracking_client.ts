import {
  EnvportError,
  FramedStream,
  own,
  parseCapabilityUrl,
  RpcClient,
  SOCKET_OPTIONS,
} from "@envport/wire";
import type { AbortOptions, Capability, CapabilityClient, JsonObject } from "@envport/wire";
import { once } from "node:events";
import { connect } from "node:net";
import type { FileDiff, FileFlush, FileManifest } from "./file_diff.ts";
import { FILE_TRACKING_PORT } from "./file_tracking_capability.ts";
import { FILE_TRACKING_LIMITS } from "./file_tracking_limits.ts";
import { toPatch } from "./to_patch.ts";

/**
 * A connection to a server of the family `filetracking/1`. All connections to a server share one state: what one of them
 * was told is not told to another.
 *
 * @example
 * ```ts no-run
 * import { connect } from "@envport/client";
 * import { filetracking } from "@envport/filetracking";
 *
 * await using client = await connect("tcp://127.0.0.1:8765");
 * const tracking = await client.open(filetracking);
 * await client.start("fix-tests");
 * await tracking.setup();
 * // The agent works.
 * console.log(await tracking.toPatch());
 * ```
 */
export class FileTrackingClient implements CapabilityClient, AsyncDisposable {
  /** The tracked directory as the server calls it; undefined if it does not say. */
  readonly root: string | undefined;
  readonly #rpc: RpcClient;
  readonly #hasSetup: boolean;

  private constructor(capability: Capability, rpc: RpcClient) {
    const root = own(capability.params, "root");
    this.root = typeof root === "string" ? root : undefined;
    this.#hasSetup = own(capability.params, "setup_diff") === true;
    this.#rpc = rpc;
  }

  /**
   * Connects.
   *
   * @param capability A binding, its url one that can be dialled from here.
   * @throws {EnvportError} `invalid-value` If it is no binding of this family; `connection-lost` if nothing answers.
   */
  static async connect(capability: Capability, { signal }: AbortOptions = {}): Promise<FileTrackingClient> {
    signal?.throwIfAborted();
    if (!capability.protocol.startsWith("filetracking/")) {
      throw new EnvportError(
        "invalid-value",
        `Cannot use binding '${capability.name}' as it must be of the family filetracking: current value is '${capability.protocol}'`,
      );
    }
    const { host, port = FILE_TRACKING_PORT } = parseCapabilityUrl(capability.url);
    const socket = connect({ ...SOCKET_OPTIONS, host, port });
    const framed = new FramedStream(socket, { maxFrameBytes: FILE_TRACKING_LIMITS.frameBytes });
    try {
      await once(socket, "connect", { signal });
    } catch (error) {
      socket.destroy();
      signal?.throwIfAborted();
      throw new EnvportError(
        "connection-lost",
        `Cannot reach file tracking as nothing answers at ${host}:${String(port)}`,
        {
          cause: error,
        },
      );
    }
    return new FileTrackingClient(capability, new RpcClient(framed));
  }

  /** Resolves when the connection has ended, to the reason; `closed` for an end that this side asked for. */
  get closed(): Promise<EnvportError> {
    return this.#rpc.closed;
  }

  /**
   * What has changed since the server started, or since the last report: what a task's set-up did. What comes after is the
   * agent's. Undefined if the server only knows how to begin anew.
   *
   * @throws {ProtocolError} If the server cannot scan; so do the methods below.
   * @throws {EnvportError} `connection-lost`, `closed`, `protocol-violation` if it sends no JSON, or over 160 MiB; so do
   *   the methods below.
   */
  async setup(options?: AbortOptions): Promise<FileDiff | undefined> {
    if (this.#hasSetup) return await this.#call<FileDiff>("setup", options);
    await this.advance(options);
    return undefined;
  }

  /** The directory as it is becomes the agent's baseline; what has changed before is not told. */
  async advance(options?: AbortOptions): Promise<void> {
    await this.#call("advance", options);
  }

  /** What has changed since the last report. While it is truncated, a further call tells more. */
  async diff(options?: AbortOptions): Promise<FileDiff> {
    return await this.#call<FileDiff>("diff", options);
  }

  /** The files as they were at the last report: paths, sizes and hashes. */
  async snapshot(options?: AbortOptions): Promise<FileManifest> {
    return await this.#call<FileManifest>("snapshot", options);
  }

  /** What has changed since the last report, and the documents and pictures changed since `setup` or `advance`. */
  async flush(options?: AbortOptions): Promise<FileFlush> {
    return await this.#call<FileFlush>("flush", options);
  }

  /**
   * All that has changed since the last report, as one patch: asks for diffs until nothing is left.
   *
   * @returns What `git apply` takes; see {@linkcode toPatch}. Empty if nothing has changed.
   */
  async toPatch(options?: AbortOptions): Promise<string> {
    const diffs: FileDiff[] = [];
    for (;;) {
      const diff = await this.diff(options);
      diffs.push(diff);
      if (!diff.truncated || diff.patches.length === 0) return toPatch(...diffs);
    }
  }

  /** Ends the connection in good order. Idempotent. */
  async close(): Promise<void> {
    await this.#rpc.close();
  }

  /** The same as `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #call<T>(method: string, options?: AbortOptions): Promise<T> {
    const result: JsonObject = await this.#rpc.call(method, {}, options);
    return result as T;
  }
}
