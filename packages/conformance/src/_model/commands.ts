import fc from "fast-check";
import type { Drop } from "../_server/stage.ts";
import type { Profile } from "../requirement.ts";
import type { Reality } from "./reality.ts";
import type { Outcome, SessionModel, TaskKind, Wanted } from "./session_model.ts";

type Command = fc.AsyncCommand<SessionModel, Reality>;

const MAX_CONNECTIONS = 4;
const MAX_COMMANDS = 60;

/** What a step does on a connection that speaks for a session. */
type Act = (model: SessionModel, reality: Reality, slot: number, own: string) => Promise<void>;
/** Whether a step makes sense for a session. */
type Filter = (model: SessionModel, own: string) => boolean;

const always: Filter = () => true;
const holdsTask: Filter = (model, own) => model.taskOf(own) !== undefined;
const holdsNone: Filter = (model, own) => model.taskOf(own) === undefined;

/** A step on one of the open connections, chosen among those for which it makes sense. */
class Step implements Command {
  readonly #name: string;
  readonly #index: number;
  readonly #act: Act;
  readonly #filter: Filter;

  constructor(name: string, index: number, act: Act, filter: Filter = always) {
    this.#name = name;
    this.#index = index;
    this.#act = act;
    this.#filter = filter;
  }

  check(model: Readonly<SessionModel>): boolean {
    return this.#places(model as SessionModel).length > 0;
  }

  async run(model: SessionModel, reality: Reality): Promise<void> {
    const places = this.#places(model);
    const [slot, own] = places[this.#index % places.length]!;
    await this.#act(model, reality, slot, own);
  }

  toString(): string {
    return this.#name;
  }

  #places(model: SessionModel): [slot: number, own: string][] {
    return [...model.connections].filter(([, own]) => this.#filter(model, own));
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

const start = (index: number, kind: TaskKind, filter: Filter): Command =>
  new Step(
    `start ${kind}`,
    index,
    async (model, reality, slot, own) => {
      const k = model.tasks.size;
      await reality.start(slot, kind, k, () => model.start(own, kind, k));
    },
    filter,
  );

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
    (model, own) => model.strict || id === "throw-start" || holdsNone(model, own),
  );

const grade = (index: number, filter: Filter): Command =>
  new Step(
    "grade",
    index,
    async (model, reality, slot, own) => {
      await reality.call(slot, "tasks.grade", { answer: "A" }, model.grade(own));
    },
    filter,
  );

const startGradeAndDrop = (index: number, how: Drop): Command =>
  new Step("start, grade and drop", index, async (model, reality, slot, own) => {
    const k = model.tasks.size;
    await reality.start(slot, "slow-grade", k, () => model.failStart(own));
    await reality.gradeAndDrop(slot, k, how);
    model.loseResult(slot, k);
  });

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

const drop = (index: number, how: Drop, filter: Filter): Command =>
  new Step(
    "drop",
    index,
    async (model, reality, slot) => {
      await reality.drop(slot, how);
      model.drop(slot);
    },
    filter,
  );

/** Which sessions a hello may name. */
type Targets = (model: SessionModel) => readonly string[];

const resume = (index: number, which: number, takeover: boolean, targets: Targets): Command => {
  const target = (model: SessionModel): string | undefined => targets(model)[which % targets(model).length];
  return new Step(
    takeover ? "take over" : "resume",
    index,
    async (model, reality, slot) => {
      const id = target(model)!;
      const { outcomes, displaced } = model.resume(slot, id, takeover);
      const params = { session_id: id, ...(takeover ? { takeover } : {}) };
      await reality.call(slot, "hello", params, outcomes);
      reality.speaksFor(slot, model.connections.get(slot)!);
      if (displaced !== undefined) await reality.closed(displaced);
    },
    (model, own) => {
      const id = target(model);
      return id !== undefined && model.isCertain(own, id);
    },
  );
};

const askForReplay = (index: number): Command =>
  new Step("hello with replay", index, async (model, reality, slot, own) => {
    const ok = only({ result: { session_id: own } }, () => model.askForReplay(own));
    await reality.call(slot, "hello", { replay: true }, ok);
  });

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
  const all = [...commonSteps(), ...(profile === "strict" ? strictSteps() : [])];
  // Short sequences lead nowhere: without a bias every length is as likely.
  return fc.noBias(fc.commands(all, { maxCommands: MAX_COMMANDS, size: "max" }));
}

const index = fc.nat(MAX_CONNECTIONS - 1);
const which = fc.nat(20);
const known: Targets = (model) => model.known;
const parked: Targets = (model) => model.parked;

/** Steps that every server knows; what is likely to lead somewhere stands here more than once. */
function commonSteps(): fc.Arbitrary<Command>[] {
  const connect = fc.constant(null).map(() => new Connect());
  const kind = fc.constantFrom<TaskKind>("echo", "echo", "throw-grade");
  const failStarts = fc
    .tuple(index, fc.constantFrom("throw-start", "no-such-task", "__proto__"))
    .map(([i, id]) => failStart(i, id));
  const startIdle = fc.tuple(index, kind).map(([i, k]) => start(i, k, holdsNone));
  const gradeOwn = index.map((i) => grade(i, holdsTask));
  const gradeBlind = index.map((i) => grade(i, holdsNone));
  const dropWith = (filter: Filter): fc.Arbitrary<Command> =>
    fc.tuple(index, fc.constantFrom<Drop>("end", "close", "reset")).map(([i, how]) => drop(i, how, filter));
  const retry = index.map((i) => grade(i, (model, own) => holdsNone(model, own) && model.hasGraded(own)));
  const resumeParked = fc.tuple(index, which).map(([i, w]) => resume(i, w, false, parked));
  return [
    ...[connect, connect, connect, connect],
    ...[startIdle, startIdle, startIdle, startIdle],
    fc.tuple(index, kind).map(([i, k]) => start(i, k, always)),
    ...[failStarts, failStarts],
    ...[gradeOwn, gradeOwn, gradeBlind, gradeBlind, retry],
    index.map(cancel),
    index.map(bye),
    ...[dropWith(holdsTask), dropWith(holdsTask), dropWith(always)],
    ...[resumeParked, resumeParked],
    fc.tuple(index, which).map(([i, w]) => resume(i, w, false, known)),
    fc.tuple(index, fc.constantFrom(...REFUSED)).map(([i, call]) => refused(i, ...call)),
  ];
}

/** Steps of the strict profile: replay, takeover, and results that get lost. */
function strictSteps(): fc.Arbitrary<Command>[] {
  return [
    ...[index.map(askForReplay), index.map(askForReplay)],
    fc.tuple(index, fc.constantFrom<Drop>("close", "reset")).map(([i, how]) => startGradeAndDrop(i, how)),
    fc.tuple(index, which).map(([i, w]) => resume(i, w, true, known)),
  ];
}
