import { Mismatch, NotClaimed } from "../_mismatch.ts";
import type { Patience } from "../_patience.ts";
import { play } from "../_play.ts";
import type { Scenario } from "../_scenario.ts";
import type { RuleResult } from "../report.ts";
import type { Profile } from "../requirement.ts";
import { ClientHost } from "./client_host.ts";
import type { StartClient } from "./client_process.ts";
import { unusable } from "./client_process.ts";
import { CLIENT_SCENARIOS } from "./scenarios.ts";
import { ClientStage } from "./stage.ts";

/** Options of {@linkcode playClient}. */
export interface PlayClientOptions {
  profile: Profile;
  rules: readonly string[] | undefined;
  patience: Patience;
}

/** How many scenarios, and so many programs, are played at the same time. */
const PARALLEL = 4;
/** How long the very first thing may take, however impatient the bench is told to be, in milliseconds. */
const FIRST_MS = 10_000;

/**
 * Plays the scenarios that bind a client.
 *
 * @param start Starts the client.
 * @param options Which to play.
 * @throws {BenchError} If the client does not even connect.
 */
export async function playClient(
  start: StartClient,
  { profile, rules, patience }: PlayClientOptions,
): Promise<RuleResult[]> {
  const hosts = Array.from({ length: PARALLEL }, () => new ClientHost(start));
  try {
    await checkUsable(hosts.at(-1)!, patience);
    const idle = [...hosts];
    return await play(CLIENT_SCENARIOS, {
      side: "client",
      profile,
      rules,
      parallel: PARALLEL,
      perform: async (scenario) => {
        const host = idle.pop()!;
        await perform(scenario, host, patience).finally(() => idle.push(host));
      },
    });
  } finally {
    await Promise.all(hosts.map((host) => host.close()));
  }
}

/** The simplest of all scenarios: a client that fails in it is not the one that was meant. */
async function checkUsable(host: ClientHost, patience: Patience): Promise<void> {
  const stage = new ClientStage(host, { ms: Math.max(patience.ms, FIRST_MS) });
  try {
    await stage.open();
    await host.ready();
    await Promise.race([stage.connected(), stage.interrupted]);
  } catch (error) {
    if (error instanceof Mismatch) throw unusable(error);
    throw error;
  } finally {
    stage.close();
    await host.renew();
  }
}

async function perform(scenario: Scenario<ClientStage>, host: ClientHost, patience: Patience): Promise<void> {
  const stage = new ClientStage(host, patience);
  try {
    await stage.open();
    await host.ready();
    await Promise.race([scenario.run(stage), stage.interrupted]);
    stage.close();
    await host.renew();
  } catch (error) {
    stage.close();
    if (error instanceof NotClaimed) await host.renew();
    else await host.endClient();
    throw error;
  }
}
