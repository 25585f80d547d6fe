import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  Daemon,
  LineClient,
  RecordingLogger,
  heldMemory,
  liveResources,
  trackedEnvironment,
  until,
} from "./_testing.ts";
import { Environment } from "./environment.ts";
import { serve } from "./serve.ts";

const quiet = { logger: new RecordingLogger() };

describe("what is left behind", () => {
  test(
    "10,000 sessions opened and dropped leave no session, timer, socket or memory",
    { timeout: 120_000 },
    async () => {
      const track = trackedEnvironment();
      const idle = liveResources();
      const server = await serve(track.env, { ...quiet, parkTtl: 500, maxParked: 200 });
      let started = 0;
      async function use(port: number, index: number): Promise<void> {
        const socket = net.connect(port, "127.0.0.1").on("error", () => {});
        const method = index % 5 === 0 ? "tasks.start" : "hello";
        const params = method === "hello" ? {} : { id: "work", args: { k: ++started } };
        socket.write(`${JSON.stringify({ id: 1, method, params })}\n`);
        await new Promise((resolve) => socket.once("data", resolve).once("close", resolve));
        if (index % 2) socket.destroy();
        else socket.resetAndDestroy();
      }
      async function round(sessions: number): Promise<void> {
        for (let index = 0; index < sessions; index += 100) {
          await Promise.all(Array.from({ length: 100 }, (_, i) => use(server.port, index + i)));
        }
        await until(() => server.stats().connections === 0, "no connection");
        await until(() => server.stats().sessions.parked === 0, "nothing parked");
      }
      await round(1_000);
      track.events.length = 0;
      const before = await heldMemory();
      await round(9_000);
      expect(track.events.filter((event) => event.startsWith("start")).length).toBe(1_800);
      await until(() => track.events.filter((event) => event.startsWith("hook")).length === 1_800);
      expect(track.events.filter((event) => event.startsWith("end")).length).toBe(1_800);
      track.events.length = 0;
      expect(server.stats()).toEqual({ connections: 0, sessions: { live: 0, parked: 0 }, streams: {} });
      expect((await heldMemory()) - before).toBeLessThan(3 * 1024 * 1024);
      await server.close();
      await expect.poll(liveResources, { timeout: 5_000 }).toEqual(idle);
    },
  );

  test("tunnels, refusals and hostile bytes leave no socket and no timer", async () => {
    const idle = liveResources();
    const daemon = await Daemon.listen(({ socket }) => void socket.pipe(socket));
    const server = await serve(new Environment({ capabilities: [daemon.capability()] }), quiet);
    const bytes = [
      '{"id":1,"method":"tunnel.open","params":{"capability":"echo"}}\npayload',
      '{"id":1,"method":"tunnel.open","params":{"capability":"nope"}}\n',
      "garbage\n",
      "GET / HTTP/1.1\r\n\r\n",
      Buffer.from([0x16, 3, 1, 2, 0]),
      '{"id":1,"meth',
      "",
      '{"id":1,"method":"hello"}\n{"id":2',
    ];
    for (let round = 0; round < 10; round++) {
      for (const text of bytes) {
        const client = await LineClient.connect(server.port);
        client.socket.write(text);
        await sleep(1);
        if (round % 2) client.destroy();
        else client.reset();
      }
    }
    await until(() => server.stats().connections === 0);
    expect(server.stats().sessions).toEqual({ live: 0, parked: 0 });
    await server.close();
    daemon.close();
    await expect.poll(liveResources, { timeout: 5_000 }).toEqual(idle);
  });
});
