import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { envport, project, serveIn, start } from "../_testing.ts";

test("only holders of a token get in: by file or by variable", { timeout: 60_000 }, async () => {
  const folder = project(["env.ts", "greeting.ts"]);
  const file = path.join(folder, "token.txt");
  writeFileSync(file, "c2VjcmV0LXRva2Vu\n");
  const { url } = await serveIn(folder, "env.ts", "--token-file", "token.txt");
  const none = await envport(["task", "list", "-q", "--url", url]);
  expect(none).toEqual({
    code: 3,
    stdout: "",
    stderr: `envport: Cannot connect to ${url} as it asks for another access token: say --token-file <file>, or set ENVPORT_TOKEN\n`,
  });
  const words = ["task", "list", "-q", "--url", url];
  expect((await envport([...words, "--token-file", file])).stdout).toMatch(/^greet\n/);
  const env = { ENVPORT_TOKEN: "c2VjcmV0LXRva2Vu" };
  expect((await envport(words, { env })).stdout).toMatch(/^greet\n/);
  const missing = await envport([...words, "--token-file", "nowhere.txt"]);
  expect(missing.code).toBe(2);
  expect(missing.stderr).toMatch(
    /^envport: Cannot use the access token as the file nowhere\.txt must be readable: ENOENT\n$/,
  );
});

test(
  "a token of the caller's does not reach an environment that is spawned",
  { timeout: 60_000 },
  async () => {
    const folder = project();
    writeFileSync(
      path.join(folder, "env.ts"),
      `import { Environment } from "@envport/server";
export default new Environment({ name: process.env.ENVPORT_TOKEN ?? "clean" });`,
    );
    writeFileSync(path.join(folder, "agent.ts"), "export default async () => process.env.ENVPORT_TOKEN;");
    const run = await envport(["task", "list", "--source", "env.ts", "--json"], {
      cwd: folder,
      env: { ENVPORT_TOKEN: "x" },
    });
    expect(run).toMatchObject({ code: 0, stdout: "[]\n" });
    const told = await envport(["run", "t", "--source", "env.ts"], {
      cwd: folder,
      env: { ENVPORT_TOKEN: "x" },
    });
    expect(JSON.parse(told.stdout.split("\n")[0]!)).toMatchObject({ environment: { name: "clean" } });
  },
);

test("a unix socket is an address, too, also with --watch", { timeout: 60_000 }, async () => {
  const folder = project(["env.ts", "greeting.ts"]);
  const url = `unix://${path.join(folder, "env.sock")}`;
  const server = start(["serve", "env.ts", "--listen", url, "--watch"], { cwd: folder });
  await server.until("stdout", /^HUD_SERVE_PORT=0\n$/);
  const { code, stdout } = await envport(["task", "start", "greet", "--url", url], {
    env: { XDG_STATE_HOME: folder },
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Say hello to world\n" });
  writeFileSync(path.join(folder, "greeting.ts"), 'export const greeting: string = "bye";');
  await server.until("stderr", /is served at[^]*is served at/);
  expect((await envport(["task", "start", "greet", "--url", url, "--json"])).stdout).toContain(
    "Say bye to world",
  );
});

test(
  "an address is remembered by what it means, not by how it was written",
  { timeout: 60_000 },
  async () => {
    const folder = project(["env.ts", "greeting.ts"]);
    const { url } = await serveIn(folder, "env.ts");
    const env = { XDG_STATE_HOME: folder };
    await envport(["task", "start", "greet", "--url", url], { env });
    const graded = await envport(
      ["task", "grade", "greet", "--url", url.replace("tcp://", ""), "--answer", "hello world"],
      { env },
    );
    expect(graded.stdout).toBe("1\n");
  },
);

test.each([
  [
    ["--listen", "unix:///tmp/x.sock", "--port", "1"],
    /--listen and --host or --port together: --listen says the whole address\n$/,
  ],
  [["--tls-cert", "package.json"], /takes --tls-cert and --tls-key, both\n$/],
  [["--tls-key", "nowhere.pem"], /Cannot read --tls-key "nowhere\.pem": ENOENT\n$/],
  [
    ["--listen", "http://127.0.0.1:1"],
    /scheme must be tcp, tls, ws, wss or unix: current value is "http"\n$/,
  ],
])("serve %j is refused with what would be right", async (words, message) => {
  const { code, stdout, stderr } = await envport(["serve", "env.ts", ...words], {
    cwd: project(["env.ts", "greeting.ts"]),
  });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(message);
});

test(
  "tls:// is served with a certificate, and connected to with its authority",
  { timeout: 60_000 },
  async () => {
    const folder = project(["env.ts", "greeting.ts"]);
    const words =
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost";
    const names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "cert.pem"];
    execFileSync("openssl", [...words.split(" "), ...names], { cwd: folder, stdio: "ignore" });
    const keys = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    const server = start(["serve", "env.ts", "--listen", "tls://localhost:0", ...keys], { cwd: folder });
    const [, port] = await server.until("stdout", /HUD_SERVE_PORT=(\d+)\n/);
    const list = ["task", "list", "-q", "--url", `tls://localhost:${port!}`, "--wait", "0"];
    expect((await envport([...list, "--ca", path.join(folder, "cert.pem")])).stdout).toMatch(/^greet\n/);
    const distrusted = await envport(list);
    expect(distrusted.code).not.toBe(0);
    expect(distrusted.stderr).toMatch(/certificate/i);
  },
);

test("forward --control-port lets in a client that has no token", { timeout: 60_000 }, async () => {
  const folder = project(["env.ts", "greeting.ts"]);
  writeFileSync(path.join(folder, "token.txt"), "c2VjcmV0LXRva2Vu\n");
  const { url } = await serveIn(folder, "env.ts", "--token-file", "token.txt");
  const env = { ENVPORT_TOKEN: "c2VjcmV0LXRva2Vu" };
  const forward = start(["forward", url, "--control-port", "0"], { cwd: folder, env });
  await forward.until("stdout", /^tcp:.*\n$/);
  const words = ["task", "list", "-q", "--url", forward.stdout.trim()];
  expect((await envport(words)).stdout).toMatch(/^greet\n/);
  forward.child.kill("SIGTERM");
  expect((await forward.ended).code).toBe(0);
});
