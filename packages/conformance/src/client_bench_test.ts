import { expect, test } from "vitest";
import type { Step } from "../fixtures/client.ts";
import { blemishes, program } from "./_testing.ts";
import { BenchError } from "./bench_error.ts";
import { runClientBench } from "./client_bench.ts";

test("our client passes the strict profile", { timeout: 120_000 }, async () => {
  const report = await runClientBench({ command: program("fixtures/client.ts"), patience: 20_000 });
  expect(blemishes(report)).toEqual(
    ["CONN-5", "SESS-10", "TUN-5"].map((id) =>
      expect.stringMatching(`^${id} not claimed: not seen on the wire`),
    ),
  );
  expect(report).toMatchObject({ side: "client", profile: "strict", ok: true });
});

test("a client that does not know a step claims nothing that needs it", { timeout: 60_000 }, async () => {
  const step: Step = { step: 1, do: "connect" };
  // It says hello whatever it is told, and knows nothing else.
  const code = `
    import net from "node:net";
    import { createInterface } from "node:readline";
    const { port } = new URL(process.env.CONFORMANCE_URL);
    const tell = (message) => console.log(JSON.stringify(message));
    let socket;
    for await (const line of createInterface({ input: process.stdin })) {
      const { step, do: name } = JSON.parse(line);
      if (name === "close") { socket?.destroy(); tell({ step, ok: {} }); }
      else if (name !== ${JSON.stringify(step.do)}) tell({ step, unsupported: true });
      else {
        socket = net.connect(Number(port));
        socket.write('{"jsonrpc":"2.0","id":1,"method":"hello","params":{}}\\n');
        createInterface({ input: socket }).once("line", (reply) => tell({ step, ok: JSON.parse(reply).result }));
      }
    }`;
  const command = [process.execPath, "--input-type=module", "-e", code];
  const report = await runClientBench({ command, rules: ["CLI-4", "CLI-6", "FRAME-11"], patience: 20_000 });
  expect(blemishes(report)).toEqual([
    'CLI-4 not claimed: the client does not know the step {"do":"open","ref":"talker"}',
    'CLI-6 not claimed: the client does not know the step {"do":"start","id":"echo"}',
  ]);
});

test.each([
  ["cannot be started", ["/no/such/program"], /it cannot be started: spawn .* ENOENT/],
  [
    "ends",
    [process.execPath, "-e", "console.error('oh'); process.exit(3)"],
    /the client ended with code 3: oh/,
  ],
])("a client that %s is told to be unusable", { timeout: 60_000 }, async (_, command, message) => {
  const bench = runClientBench({ command, patience: 2_000 });
  await expect(bench).rejects.toThrow(BenchError);
  await expect(bench).rejects.toThrow(message);
});

test("a rule that binds servers only is none for a client", async () => {
  await expect(runClientBench({ command: ["true"], rules: ["TASK-1"] })).rejects.toThrow(
    /as it binds the server/,
  );
});
