import { BenchError } from "./bench_error.ts";
import { Mismatch, NotClaimed } from "./_mismatch.ts";
import type { Scenario } from "./_scenario.ts";
import type { RuleResult, ScenarioResult, Status } from "./report.ts";
import type { Profile, Rule, Side } from "./requirement.ts";
import { requirements } from "./requirements.ts";

/** Options of {@linkcode play}. */
export interface PlayOptions<Stage> {
  side: Side;
  profile: Profile;
  /** Ids of the only rules to try; all if undefined. */
  rules: readonly string[] | undefined;
  /** How many scenarios are played at the same time. */
  parallel: number;
  /**
   * Plays one scenario on a stage of its own.
   *
   * @param scenario Which.
   * @param alone Whether nothing else is played at the same time.
   * @throws {PlayAgain} If another scenario may have disturbed it.
   */
  perform(this: void, scenario: Scenario<Stage>, alone: boolean): Promise<void>;
}

/** A scenario that says nothing this time, as the other side went down while several were played. */
export class PlayAgain extends Error {
  override readonly name = "PlayAgain";
}

/**
 * Plays scenarios: first those that may run side by side, then those that need the other side for themselves.
 *
 * @param scenarios All that there are.
 * @param options Which to play, and how.
 * @returns The result of every rule that binds the side, in the order of the contract.
 */
export async function play<Stage>(
  scenarios: readonly Scenario<Stage>[],
  options: PlayOptions<Stage>,
): Promise<RuleResult[]> {
  const { profile, parallel, rules } = options;
  const bound = requirements.filter(({ sides }) => sides.includes(options.side));
  const wanted = bound.filter(({ id }) => !rules || rules.includes(id));
  const claimed = scenarios.filter((scenario) =>
    wanted.some((rule) => rule.id === scenario.rule && isClaimed(scenario.source ?? rule.source, profile)),
  );
  const results = new Map<Scenario<Stage>, ScenarioResult>();
  const perform = async (scenario: Scenario<Stage>, alone: boolean): Promise<void> => {
    results.set(scenario, await outcome(scenario, () => options.perform(scenario, alone)));
  };
  const together = claimed.filter(({ alone }) => !alone);
  const later = claimed.filter(({ alone }) => alone);
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      for (let next = together.shift(); next; next = together.shift()) {
        const scenario = next;
        await perform(scenario, false).catch((error: unknown) => {
          if (!(error instanceof PlayAgain)) throw error;
          later.unshift(scenario);
        });
      }
    }),
  );
  for (const scenario of later) await perform(scenario, true);
  return wanted.map((rule) =>
    summarize(
      rule,
      claimed.filter((scenario) => scenario.rule === rule.id).map((scenario) => results.get(scenario)!),
      scenarios.some((scenario) => scenario.rule === rule.id),
    ),
  );
}

/**
 * The ids of rules as a person wrote them, checked.
 *
 * @param ids For example `["SESS-6"]`.
 * @param side Whom they must bind.
 * @throws {BenchError} If there is no such rule, or it binds the other side only.
 */
export function checkRules(ids: readonly string[] | undefined, side: Side): void {
  for (const id of ids ?? []) {
    const rule = requirements.find((candidate) => candidate.id === id);
    if (!rule) {
      throw new BenchError(
        `Cannot try rule '${id}' as the contract has no such rule: see envport-conformance rules`,
      );
    }
    if (!rule.sides.includes(side)) {
      throw new BenchError(
        `Cannot try rule '${id}' on a ${side} as it binds the ${rule.sides.join(" and ")}`,
      );
    }
  }
}

function isClaimed(source: string, profile: Profile): boolean {
  return profile === "strict" || source === "base";
}

async function outcome({ name }: { name: string }, perform: () => Promise<void>): Promise<ScenarioResult> {
  try {
    await perform();
    return { name, status: "pass" };
  } catch (error) {
    if (error instanceof BenchError || error instanceof PlayAgain) throw error;
    if (error instanceof NotClaimed) return { name, status: "not-claimed", reason: error.message };
    if (error instanceof Mismatch)
      return { name, status: "fail", reason: error.message, mismatch: error.parts };
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { name, status: "fail", reason: `the bench itself failed: ${reason}` };
  }
}

function summarize(rule: Rule, scenarios: ScenarioResult[], covered: boolean): RuleResult {
  const { id, sentence, unseen } = rule;
  const has = (status: Status): boolean => scenarios.some((scenario) => scenario.status === status);
  if (has("fail")) return { id, sentence, status: "fail", scenarios };
  if (has("pass")) return { id, sentence, status: "pass", scenarios };
  const reasons = scenarios.map(({ reason }) => reason).filter((reason) => reason !== undefined);
  const reason =
    reasons[0] ??
    (covered
      ? "not in the base profile"
      : `not seen on the wire: ${(unseen ?? "").replace("all of it: ", "")}`);
  return { id, sentence, status: "not-claimed", reason, scenarios };
}
