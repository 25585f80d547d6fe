import { EnvportError } from "@envport/wire";
import type { AbortOptions, Capability, CapabilityClient } from "@envport/wire";
import { toAction, toChunk } from "./_action.ts";
import { AgentSocket } from "./_agent_socket.ts";
import { Mailbox } from "./_mailbox.ts";
import { isFrame, readObservation } from "./_read_observation.ts";
import { runPolicy } from "./_run_policy.ts";
import { decode } from "./decode.ts";
import type { FrameValue } from "./encode.ts";
import { encode } from "./encode.ts";
import { NdArray } from "./nd_array.ts";
import type {
  RobotAction,
  RobotConnectOptions,
  RobotPolicy,
  RobotRunOptions,
  RobotRunResult,
  SendChunkOptions,
} from "./robot_client_options.ts";
import type { RobotContract } from "./robot_contract.ts";
import type { RobotObservation } from "./robot_observation.ts";
import { robotSpaces } from "./robot_spaces.ts";
import type { RobotSpaces } from "./robot_spaces.ts";

const TIMEOUT_MS = 30_000;
const MAX_FRAME_BYTES = 100 * 1024 * 1024;
/** How long a bridge has to answer a close, in milliseconds. */
const CLOSE_MS = 500;

/**
 * An agent's side of `openpi/0`: it drives one slot of a robot or a simulator. The environment sends an observation, the
 * agent answers with an action.
 *
 * ```text
 * connected ── an error frame, a loss, close() ──▶ failed: the pending read and every later call fail with the reason
 * ```
 *
 * Of observations that nobody has read, the newest counts, and one that ends the episode is never lost. After a loss,
 * connect again with the same token: the bridge keeps the slot.
 *
 * @example
 * ```ts no-run
 * import { connect } from "@envport/client";
 * import { robot } from "@envport/robot";
 *
 * await using client = await connect("tcp://127.0.0.1:8765");
 * const task = await client.start("reach", { seed: 7 });
 * const arm = await client.open(robot);
 * const { steps } = await arm.run(({ data }) => [Number(data["state"]!.data[0]) * -0.5]);
 * console.log(steps, (await task.grade()).score);
 * ```
 */
export class RobotClient implements CapabilityClient, AsyncDisposable {
  /** The environment's contract as it was published; `{features: {}}` if there is none. */
  readonly contract: RobotContract;
  /** What the bridge said when the connection was made. */
  readonly metadata: Readonly<Record<string, FrameValue>>;
  readonly #socket: AgentSocket;
  readonly #mailbox = new Mailbox();
  readonly #spaces: RobotSpaces;

  private constructor(capability: Capability, socket: AgentSocket, metadata: Record<string, FrameValue>) {
    const { contract } = capability.params;
    this.contract = (contract ?? { features: {} }) as RobotContract;
    this.metadata = metadata;
    this.#socket = socket;
    this.#spaces = robotSpaces(contract);
  }

  /**
   * Connects, and takes a slot where the bridge has slots; then the first observation has arrived.
   *
   * @param capability A binding, its url one that can be dialled from here.
   * @param options The slot's token, and limits.
   * @throws {EnvportError} `authentication-failed` If the bridge refuses the token, or there is not exactly one slot to
   *   take without one; `timeout`, `connection-lost`; `invalid-value` if it is no binding of this family.
   */
  static async connect(capability: Capability, options: RobotConnectOptions = {}): Promise<RobotClient> {
    const { token, signal, timeout = TIMEOUT_MS, maxFrameBytes = MAX_FRAME_BYTES } = options;
    signal?.throwIfAborted();
    if (!capability.protocol.startsWith("openpi/")) {
      throw new EnvportError(
        "invalid-value",
        `Cannot use binding '${capability.name}' as it must be of the family openpi: current value is '${capability.protocol}'`,
      );
    }
    const socket = new AgentSocket(capability.url, { maxFrameBytes, timeout });
    try {
      const first = await socket.next("its metadata", { timeout, signal });
      const metadata = decode(first);
      const client = new RobotClient(capability, socket, isFrame(metadata) ? { ...metadata } : {});
      const claims = token !== undefined || Boolean(client.metadata["claim_required"]);
      if (claims) {
        await socket.send(encode({ claim: token ?? null }));
        client.#mailbox.put(readObservation(await socket.next("the first observation", { timeout, signal })));
      }
      client.#listen();
      return client;
    } catch (error) {
      socket.terminate();
      throw error;
    }
  }

  /** Actions each second, in hertz, rounded, at least 1; 10 if the contract says nothing. */
  get controlRate(): number {
    const { control_rate: rate } = this.contract as { control_rate?: unknown };
    return Math.max(1, Math.round(typeof rate === "number" && rate > 0 ? rate : 10));
  }

  /** Observations that were replaced by newer ones before anybody read them. */
  get dropped(): number {
    return this.#mailbox.dropped;
  }

  /** Resolves when the connection has ended, to the reason; `closed` for an end that this side asked for. */
  get closed(): Promise<EnvportError> {
    return this.#mailbox.failed;
  }

  /** The contract's features by what they are for. */
  spaces(): RobotSpaces {
    return this.#spaces;
  }

  /**
   * The newest observation that has not been read; waits for one if there is none. One call at a time.
   *
   * @param options A signal that gives up waiting.
   * @throws {EnvportError} `connection-lost` If the environment went away, or sent an error; `closed`; `invalid-value` if
   *   it sent what is no observation.
   */
  async observation(options: AbortOptions = {}): Promise<RobotObservation> {
    return await this.#mailbox.take(options);
  }

  /**
   * Sends one action. The observation that follows it is not waited for.
   *
   * @param action Its numbers; they are sent as 32-bit floats.
   * @throws {RangeError} If a number is not finite, or there are not as many as the contract says.
   * @throws {TypeError} If it is no list of numbers.
   * @throws {EnvportError} As {@linkcode RobotClient.observation}.
   */
  async act(action: RobotAction): Promise<void> {
    await this.#send({ actions: toAction(action, this.#spaces.actionWidth) });
  }

  /**
   * Sends several actions at once to an environment that runs freely. One that waits for each action refuses them: let
   * {@linkcode RobotClient.run} send them one by one.
   *
   * @param chunk Equally long actions, the next one first.
   * @param options What the chunk is based on.
   * @throws {RangeError} As {@linkcode RobotClient.act}; if the actions are not equally long.
   */
  async sendChunk(
    chunk: NdArray | readonly ArrayLike<number>[],
    { obsIndex, delayUsed }: SendChunkOptions = {},
  ): Promise<void> {
    const frame: Record<string, FrameValue> = { actions: toChunk(chunk, this.#spaces.actionWidth) };
    if (obsIndex !== undefined) frame["obs_index"] = obsIndex;
    if (delayUsed !== undefined) frame["delay_used"] = delayUsed;
    await this.#send(frame);
  }

  /**
   * Lets a policy act until the episode is over. A policy that returns several actions has them executed in order, one
   * for each observation; what is left at the end of the episode is dropped.
   *
   * @param policy Called with an observation; returns the next action, or several.
   * @param options When to stop.
   * @throws {EnvportError} As {@linkcode RobotClient.observation}.
   * @throws What the policy throws.
   */
  async run(policy: RobotPolicy, options: RobotRunOptions = {}): Promise<RobotRunResult> {
    return await runPolicy(this, policy, options);
  }

  /** Ends the connection in good order. Idempotent. */
  async close(): Promise<void> {
    this.#mailbox.fail(new EnvportError("closed", "Cannot go on as the robot client was closed"));
    await this.#socket.close(CLOSE_MS);
  }

  /** The same as `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #send(frame: FrameValue): Promise<void> {
    if (this.#mailbox.reason) throw this.#mailbox.reason;
    await this.#socket.send(encode(frame));
  }

  #listen(): void {
    this.#socket.listen(
      (bytes) => {
        try {
          this.#mailbox.put(readObservation(bytes));
        } catch (error) {
          this.#mailbox.fail(error as EnvportError);
          this.#socket.terminate();
        }
      },
      (reason) => this.#mailbox.fail(reason),
    );
  }
}
