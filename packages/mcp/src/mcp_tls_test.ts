// A server behind TLS, reached through a forwarder: the certificate is checked against the binding's own name.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import net from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import tls from "node:tls";
import { promisify } from "node:util";
import { connect } from "@envport/client";
import { Environment, serve } from "@envport/server";
import { onTestFinished, test } from "vitest";
import { portOf, silent, started } from "./_testing.ts";
import { everything } from "./_testing_everything.ts";
import { McpClient } from "./mcp_client.ts";
import { mcp } from "./mcp.ts";

const NAME = "tools.example.test";

/** A TLS port in front of a service, with a certificate for one name; the environment's url says another host if asked. */
async function behindTls(
  scheme: "https" | "wss",
  host = NAME,
): Promise<{ url: string; certificate: string }> {
  const folder = await mkdtemp(join(tmpdir(), "envport-tls-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const subject = ["-subj", `/CN=${NAME}`, "-addext", `subjectAltName=DNS:${NAME}`];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  await promisify(execFile)("openssl", ["req", ...kind, "-keyout", key, "-out", certificate, ...subject]);
  const service = await started(() => everything(), { allowedHostnames: [NAME] });
  const options = { key: await readFile(key), cert: await readFile(certificate) };
  const front = tls.createServer(options, (socket) => {
    const inner = net.connect(portOf(service.capability), "127.0.0.1");
    socket.on("error", () => inner.destroy()).pipe(inner);
    inner.on("error", () => socket.destroy()).pipe(socket);
  });
  front.on("tlsClientError", () => undefined).listen(0, "127.0.0.1");
  await once(front, "listening");
  onTestFinished(() => void front.close());
  const { port } = front.address() as AddressInfo;
  const env = new Environment({ name: "tls" });
  const transport = scheme === "wss" ? "websocket" : "streamable-http";
  const url = `${scheme}://${host}:${String(port)}/mcp`;
  const capability = { name: "tools", protocol: "mcp/2025-11-25", url, params: { transport } };
  env.addCapability({ ...capability, dial: { host: "127.0.0.1", port } });
  const server = await serve(env, { logger: silent });
  onTestFinished(() => server.close());
  return { url: server.url, certificate };
}

/** Calls a tool in a process that trusts a certificate. */
async function callTrusting(certificate: string, url: string): Promise<string> {
  const script = join(import.meta.dirname, "testdata/tls_client.ts");
  const child = spawn(process.execPath, ["--import", "tsx", "--conditions=@envport/source", script, url], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate },
  });
  const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return output.trim();
}

test.each(["https", "wss"] as const)(
  "over %s, the name in the certificate is the binding's own",
  async (scheme) => {
    const { url, certificate } = await behindTls(scheme);
    assert.equal(await callTrusting(certificate, url), scheme === "https" ? `5 ${NAME}` : "5 undefined");
  },
);

test.each(["https", "wss"] as const)(
  "over %s, another name than the certificate's is refused",
  async (scheme) => {
    const { url, certificate } = await behindTls(scheme, "other.example.test");
    assert.match(await callTrusting(certificate, url), /^connection-lost .*other\.example\.test/);
  },
);

test.each(["https", "wss"] as const)(
  "over %s, a certificate that nobody vouches for is refused",
  async (scheme) => {
    const { url } = await behindTls(scheme);
    const client = await connect(url, { logger: silent });
    onTestFinished(() => client.close());
    await assert.rejects(client.open(mcp), { code: "connection-lost", message: /self-signed certificate/ });
    await assert.rejects(McpClient.connect(client.binding("mcp")), { code: "connection-lost" });
  },
);
