import { once } from "node:events";
import net from "node:net";
import { atMost } from "../_patience.ts";
import type { StartClient } from "./client_process.ts";
import { ClientProcess } from "./client_process.ts";

/** How long a program may take to start, in milliseconds. */
const START_MS = 30_000;
/** How long a client may take to close between two scenarios, in milliseconds. */
const CLOSE_MS = 3_000;

/**
 * A port of the bench, and a client program that was told this port when it was started. Both outlive a scenario:
 * starting a program takes longer than most of them.
 */
export class ClientHost {
  /** Receives connections to the port. */
  onConnection: (socket: net.Socket) => void = (socket) => void socket.destroy();
  readonly #start: StartClient;
  readonly #server = net.createServer(
    { allowHalfOpen: true, noDelay: true, pauseOnConnect: true },
    (socket) => {
      this.onConnection(socket);
    },
  );
  #port = 0;
  #client: ClientProcess | undefined;

  /** @param start Starts the client's program. */
  constructor(start: StartClient) {
    this.#start = start;
  }

  /** The client's program. */
  get client(): ClientProcess {
    this.#client ??= new ClientProcess(this.#start(`tcp://127.0.0.1:${String(this.#port)}`));
    return this.#client;
  }

  /** Accepts connections; always on the same port. */
  async listen(): Promise<void> {
    if (this.#server.listening) return;
    this.#server.listen({ host: "127.0.0.1", port: this.#port });
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as net.AddressInfo).port;
  }

  /** Lets connections be refused. */
  async unlisten(): Promise<void> {
    this.#server.close();
    await once(this.#server, "close");
  }

  /** Starts the client if it does not run, and waits until it does what it is told. */
  async ready(): Promise<void> {
    if (this.#client) return;
    await atMost(this.client.step("close").outcome, START_MS);
    this.client.forget();
  }

  /** Makes the client ready for another scenario; one that does not close in time is started anew. */
  async renew(): Promise<void> {
    this.onConnection = (socket) => void socket.destroy();
    const closed = this.#client?.step("close").outcome;
    const outcome = await atMost(closed, CLOSE_MS);
    if (outcome !== undefined && "ok" in outcome) this.client.forget();
    else await this.endClient();
  }

  /** Ends the client. */
  async endClient(): Promise<void> {
    await this.#client?.end();
    this.#client = undefined;
  }

  /** Ends the client and closes the port. */
  async close(): Promise<void> {
    await this.endClient();
    this.#server.close();
  }
}
