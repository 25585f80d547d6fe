import { Lifecycle, makePrivateFolder, removePrivateFolder } from "@envport/wire";
import type { AbortOptions, DialTarget, PublishedCapability, Service } from "@envport/wire";
import { join } from "node:path";
import { FileTracker } from "./file_tracker.ts";
import type { FileTrackerOptions } from "./file_tracker.ts";
import { FILE_TRACKING_PORT, fileTrackingCapability } from "./file_tracking_capability.ts";

/** What a server tracks, and where it listens. */
export interface FileTrackingServerOptions extends FileTrackerOptions {
  /**
   * The name of its capability.
   *
   * @default {"filetracking"}
   */
  readonly name?: string | undefined;
  /**
   * The address to listen on. Without `host` and `port` it is a socket in a private folder, which no web page, no
   * sandboxed process and no other user reaches.
   *
   * @default {"127.0.0.1"} if `port` is given
   */
  readonly host?: string | undefined;
  /**
   * The port to listen on; 0 is any.
   *
   * @default {0} if `host` is given
   */
  readonly port?: number | undefined;
  /**
   * What the capability's `root` says, such as the directory's path in a sandbox.
   *
   * @default the directory itself
   */
  readonly publishedRoot?: string | undefined;
}

/** What is there between `start` and `stop`. */
interface Serving {
  readonly tracker: FileTracker;
  readonly capability: PublishedCapability;
  /** A private folder for the socket. */
  readonly folder: string | undefined;
}

/**
 * A directory's changes, served as `filetracking/1`: the baseline is taken at start, and every connection sees the same
 * state.
 *
 * @example
 * ```ts
 * import { FileTrackingClient, FileTrackingServer } from "@envport/filetracking";
 * import assert from "node:assert/strict";
 * import { mkdtemp, writeFile } from "node:fs/promises";
 *
 * const root = await mkdtemp("/tmp/tracked-");
 * await using server = new FileTrackingServer(root, { port: 0 });
 * const [capability] = await server.start();
 * await using client = await FileTrackingClient.connect(capability!);
 * await client.setup();
 * await writeFile(`${root}/answer.txt`, "42\n");
 * assert.match(await client.toPatch(), /^new file mode 100644$/m);
 * ```
 */
export class FileTrackingServer implements Service, AsyncDisposable {
  readonly #root: string;
  readonly #options: FileTrackingServerOptions;
  readonly #lifecycle: Lifecycle<Serving>;

  /**
   * Nothing happens yet.
   *
   * @param root The directory; a relative one is below the current folder.
   * @param options What to leave out, where to listen.
   */
  constructor(root: string, options: FileTrackingServerOptions = {}) {
    this.#root = root;
    this.#options = options;
    this.#lifecycle = new Lifecycle({
      name: this.name,
      start: (abort) => this.#start(abort),
      stop: ({ tracker, folder }) => close(tracker, folder),
    });
  }

  /** What errors and logs call it. */
  get name(): string {
    return `file tracking '${this.#options.name ?? "filetracking"}'`;
  }

  /** Resolves when the server of the latest start is gone: to undefined after a `stop`, else to the reason. */
  get closed(): Promise<Error | undefined> {
    return this.#lifecycle.current?.tracker.closed ?? Promise.resolve(undefined);
  }

  /**
   * The state that is served, for use in this program.
   *
   * @throws {EnvportError} `closed` If it is not started; so does the next one.
   */
  get tracker(): FileTracker {
    return this.#lifecycle.running.tracker;
  }

  /** The capability as it is published. */
  get capability(): PublishedCapability {
    return this.#lifecycle.running.capability;
  }

  /**
   * Takes the directory as it is as the baseline, and listens. Idempotent.
   *
   * @returns The one capability to publish.
   * @throws {EnvportError} `service-failed` If there is no such directory; `address-in-use`
   */
  async start(options: AbortOptions = {}): Promise<readonly PublishedCapability[]> {
    const { capability } = await this.#lifecycle.start(options);
    return [capability];
  }

  /** Ends every connection. Idempotent; it may be started again. */
  async stop(): Promise<void> {
    await this.#lifecycle.stop();
  }

  /** The same as `stop`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #start(options: AbortOptions): Promise<Serving> {
    const { name, host, port, publishedRoot } = this.#options;
    const tracker = new FileTracker(this.#root, this.#options);
    const onTcp = host !== undefined || port !== undefined;
    const folder = onTcp ? undefined : makePrivateFolder();
    const target: DialTarget =
      folder === undefined
        ? { host: host ?? "127.0.0.1", port: port ?? 0 }
        : { path: join(folder, "filetracking.sock") };
    try {
      await tracker.start(options);
      const bound = await tracker.listen(target, options);
      const address = `${bracket(host ?? "127.0.0.1")}:${String(bound ?? FILE_TRACKING_PORT)}`;
      const capability = fileTrackingCapability({ name, url: address, root: publishedRoot ?? tracker.root });
      return { tracker, capability: onTcp ? capability : { ...capability, dial: target }, folder };
    } catch (error) {
      await close(tracker, folder);
      throw error;
    }
  }
}

async function close(tracker: FileTracker, folder: string | undefined): Promise<void> {
  await tracker.close();
  if (folder !== undefined) removePrivateFolder(folder);
}

function bracket(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
