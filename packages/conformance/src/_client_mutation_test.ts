import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import type { ClientFault } from "../fixtures/faulty/client_faults.ts";
import { CLIENT_FAULTS } from "../fixtures/faulty/client_faults.ts";
import { runFaultyClient } from "../fixtures/faulty/faulty_client.ts";
import type { ClientChild } from "./_client/client_process.ts";
import { playClient } from "./_client/play_client.ts";

/** The faulty client in this process, which looks like a program of its own. */
class LocalChild extends EventEmitter implements ClientChild {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();

  constructor(url: string, fault?: ClientFault) {
    super();
    const client = runFaultyClient({ input: this.stdin, output: this.stdout, url }, fault);
    this.stdin.on("end", () => {
      void client.perform({ step: 0, do: "close" });
      this.emit("close", 0, null);
    });
  }

  kill(): void {
    this.stdin.end();
  }
}

const faults = Object.entries(CLIENT_FAULTS) as [ClientFault, string][];

test("the faulty client without a fault passes everything", { timeout: 120_000 }, async () => {
  const options = { profile: "strict", rules: undefined, patience: { ms: 20_000 } } as const;
  const rules = await playClient((url) => new LocalChild(url), options);
  const notClaimed = rules.filter(({ status }) => status === "not-claimed").map(({ id }) => id);
  expect(notClaimed).toEqual(["CONN-5", "SESS-10", "TUN-5"]);
  const failed = rules.flatMap(({ id, scenarios }) =>
    scenarios
      .filter(({ status }) => status === "fail")
      .map(({ name, reason }) => `${id} ${name}: ${reason!}`),
  );
  expect(failed).toEqual([]);
});

describe("the scenarios of a rule find a client that", () => {
  test.concurrent.each(faults)("%s", { timeout: 60_000 }, async (fault, rule) => {
    const options = { profile: "strict", rules: [rule], patience: { ms: 1_500 } } as const;
    const [result] = await playClient((url) => new LocalChild(url, fault), options);
    expect(result).toMatchObject({ id: rule, status: "fail" });
  });
});
