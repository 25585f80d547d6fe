import fc from "fast-check";
import type { Drop } from "../_server/stage.ts";
import type { Profile } from "../requirement.ts";
import type { Reality } from "./reality.ts";
import type { Outcome, SessionModel, TaskKind, Wanted } from "./session_model.ts";

type Command = fc.AsyncCommand<SessionModel, Reality>;

const MAX_CONNECTIONS = 4;
const MAX_COMMANDS = 40;

/** A step on one of the open connections. */
class Step implements Command {
  readonly #name: string;
  readonly #index: number;
  readonly #run: (model: SessionModel, reality: Reality, slot: number, own: string) => Promise<void>;
  readonly #possible: (model: SessionModel, slot: number, own: string) => boolean;

  constructor(
    name: string,
    index: number,
    run: (model: SessionModel, reality: Reality, slot: number, own: string) => Promise<void>,
    possible: (model: SessionModel, slot: number, own: string) => boolean = () => true,
  ) {
    this.#name = name;
    this.#index = index;
    this.#run = run;
    this.#possible = possible;
  }

  check(model: Readonly<SessionModel>): boolean {
    if (model.connections.size === 0) return false;
    const [slot, own] = this.#place(model);
    return this.#possible(model as SessionModel, slot, own);
  }

  async run(model: SessionModel, reality: Reality): Promise<void> {
    await this.#run(model, reality, ...this.#place(model));
  }

  toString(): string {
    return this.#name;
  }

  #place({ connections }: Pick<SessionModel, "connections">): [slot: number, own: string] {
    return [...connections][this.#index % connections.size]!;
  }
}

class Connect implements Command {
  check({ connections }: Readonly<SessionModel>): boolean {
    return connections.size < MAX_CONNECTIONS;
  }

  async run(model: SessionModel, reality: Reality): Promise<void> {
    await reality.connect(model);
  }

  toString(): string {
    return "connect";
  }
}

const only = (wanted: Wanted, apply: () => void = () => {}): Outcome[] => [{ wanted, apply }];

const start = (index: number, kind: TaskKind): Command =>
  new Step(`start ${kind}`, index, async (model, reality, slot, own) => {
    const k = model.tasks.size;
    await reality.start(slot, kind, k, () => model.start(own, kind, k));
  });

const failStart = (index: number, id: string): Command =>
  new Step(
    `start ${id}`,
    index,
    async (model, reality, slot, own) => {
      const code = id === "throw-start" ? -32000 : -32602;
      await reality.call(
        slot,
        "tasks.start",
        { id },
        only({ error: { code } }, () => model.failStart(own)),
      );
    },
    // Newer peers look the task up before they give the old one up.
    (model, _, own) => model.strict || id === "throw-start" || !model.taskOf(own),
  );

const grade = (index: number): Command =>
  new Step("grade", index, async (model, reality, slot, own) => {
    await reality.call(slot, "tasks.grade", { answer: "A" }, model.grade(own));
  });

const gradeAndDrop = (index: number, how: Drop): Command =>
  new Step(
    "grade and drop",
    index,
    async (model, reality, slot, own) => {
      await reality.gradeAndDrop(slot, model.taskOf(own)!.k, how);
      model.loseResult(slot);
    },
    (model, _, own) => {
      const task = model.taskOf(own);
      return model.strict && task?.kind === "slow-grade" && task.by === own;
    },
  );

const cancel = (index: number): Command =>
  new Step("cancel", index, async (model, reality, slot, own) => {
    await reality.call(
      slot,
      "tasks.cancel",
      {},
      only({ result: { cancelled: true } }, () => model.cancel(own)),
    );
  });

const bye = (index: number): Command =>
  new Step("bye", index, async (model, reality, slot) => {
    await reality.call(
      slot,
      "bye",
      {},
      only({ result: { goodbye: true } }, () => model.bye(slot)),
    );
    await reality.closed(slot);
  });

const drop = (index: number, how: Drop): Command =>
  new Step("drop", index, async (model, reality, slot) => {
    await reality.drop(slot, how);
    model.drop(slot);
  });

const target = (model: SessionModel, which: number): string => model.known[which % model.known.length]!;

const resume = (index: number, which: number, takeover: boolean): Command =>
  new Step(
    takeover ? "take over" : "resume",
    index,
    async (model, reality, slot) => {
      const id = target(model, which);
      const { outcomes, displaced } = model.resume(slot, id, takeover);
      const params = { session_id: id, ...(takeover ? { takeover } : {}) };
      await reality.call(slot, "hello", params, outcomes);
      reality.speaksFor(slot, model.connections.get(slot)!);
      if (displaced !== undefined) await reality.closed(displaced);
    },
    (model, _, own) => (model.strict || !takeover) && model.isCertain(own, target(model, which)),
  );

const askForReplay = (index: number): Command =>
  new Step(
    "hello with replay",
    index,
    async (model, reality, slot, own) => {
      const ok = only({ result: { session_id: own } }, () => model.askForReplay(own));
      await reality.call(slot, "hello", { replay: true }, ok);
    },
    ({ strict }) => strict,
  );

const refused = (index: number, method: string, params: object, code: number): Command =>
  new Step(method, index, async (_, reality, slot) => {
    await reality.call(slot, method, params, only({ error: { code } }));
  });

/** Calls that are refused and change nothing. */
const REFUSED: readonly (readonly [method: string, params: object, code: number])[] = [
  ["hello", { session_id: 5 }, -32602],
  ["hello", { session_id: "sess-ffffffff" }, -32600],
  ["tasks.start", { id: 5 }, -32602],
  ["tasks.start", { id: "echo", args: "x" }, -32602],
  ["tunnel.open", { capability: "echo" }, -32601],
  ["no.such.method", {}, -32601],
];

/**
 * Random sequences of what clients do.
 *
 * @param profile Of the strict profile: replay, takeover, and results that get lost, too.
 */
export function sequences(profile: Profile): fc.Arbitrary<Iterable<Command>> {
  const index = fc.nat(MAX_CONNECTIONS - 1);
  const how = fc.constantFrom<Drop>("end", "close", "reset");
  const which = fc.nat(20);
  const kind = fc.constantFrom<TaskKind>("echo", "echo", "throw-grade", "slow-grade");
  const connect = fc.constant(null).map(() => new Connect());
  const common: fc.Arbitrary<Command>[] = [
    connect,
    connect,
    fc.tuple(index, kind).map(([i, k]) => start(i, k)),
    fc.tuple(index, kind).map(([i, k]) => start(i, k)),
    fc
      .tuple(index, fc.constantFrom("throw-start", "no-such-task", "__proto__"))
      .map(([i, id]) => failStart(i, id)),
    index.map(grade),
    index.map(grade),
    index.map(cancel),
    index.map(bye),
    fc.tuple(index, how).map(([i, h]) => drop(i, h)),
    fc.tuple(index, which).map(([i, w]) => resume(i, w, false)),
    fc.tuple(index, fc.constantFrom(...REFUSED)).map(([i, call]) => refused(i, ...call)),
  ];
  const strict: fc.Arbitrary<Command>[] = [
    index.map(askForReplay),
    fc.tuple(index, fc.constantFrom<Drop>("close", "reset")).map(([i, h]) => gradeAndDrop(i, h)),
    fc.tuple(index, which).map(([i, w]) => resume(i, w, true)),
  ];
  const all = profile === "strict" ? [...common, ...strict] : common;
  return fc.commands(all, { maxCommands: MAX_COMMANDS, size: "+1" });
}
