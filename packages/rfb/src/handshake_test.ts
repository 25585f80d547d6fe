import assert from "node:assert/strict";
import { EnvportError } from "@envport/wire";
import { expect, test } from "vitest";
import { RfbCore } from "./_rfb_core.ts";
import { vncPasswordFile, vncResponse } from "./_vnc_password.ts";

const INIT = "00400040" + "20180001" + "00ff00ff00ff" + "000810" + "000000" + "00000004" + "64657368";

/** Feeds a server's side in, and returns what the client says up to SetPixelFormat. */
function handshake(
  parts: readonly (string | Buffer)[],
  password?: string,
): { said: string[]; core: RfbCore } {
  const said: string[] = [];
  const core = new RfbCore({
    password,
    encodings: () => [0],
    emit: (event) => {
      if (event.type === "send") said.push(event.data.toString("latin1"));
    },
  });
  for (const part of parts) core.receive(typeof part === "string" ? Buffer.from(part, "hex") : part);
  return { said, core };
}

const greeting = (version: string): Buffer => Buffer.from(`RFB ${version}\n`);

test.each([
  ["003.008", ["0101", "00000000", INIT], ["RFB 003.008\n", "\x01", "\x01"]],
  ["003.889", ["0101", "00000000", INIT], ["RFB 003.008\n", "\x01", "\x01"]],
  ["003.007", ["0101", INIT], ["RFB 003.007\n", "\x01", "\x01"]],
  ["003.005", ["00000001", INIT], ["RFB 003.003\n", "\x01"]],
  ["003.003", ["00000001", INIT], ["RFB 003.003\n", "\x01"]],
])("a server of version %s is answered as its version asks", (version, parts, expected) => {
  const { said, core } = handshake([greeting(version), ...parts]);
  assert.deepEqual(said.slice(0, expected.length), expected);
  assert.deepEqual([core.name, core.screen.width, core.screen.height], ["desh", 64, 64]);
});

const failure = (parts: readonly (string | Buffer)[], password?: string): EnvportError => {
  try {
    handshake(parts, password);
  } catch (error) {
    assert.ok(error instanceof EnvportError);
    return error;
  }
  throw new Error("It did not fail");
};

test("a server that asks for a password, where there is none, is told apart from one that refuses it", () => {
  const missing = failure([greeting("003.008"), "0102"]);
  expect(missing).toMatchObject({ code: "authentication-failed", message: /asks for a password/ });
  const reason = Buffer.from("nope").toString("hex");
  const wrong = failure(
    [greeting("003.008"), "0102", "00".repeat(16), "00000001" + "00000004" + reason],
    "secret",
  );
  expect(wrong).toMatchObject({ code: "authentication-failed", message: /refuses the password: nope$/ });
});

test("VeNCrypt and other ways to log in are refused by their names", () => {
  const error = failure([greeting("003.008"), "0313051e"]);
  expect(error).toMatchObject({
    code: "unsupported",
    message: /VeNCrypt \(19\), RA2 \(5\), Apple Remote Desktop \(30\)$/,
  });
});

test("a server that lets nobody in says why", () => {
  const reason = Buffer.from("too many tries");
  const length = reason.length.toString(16).padStart(8, "0");
  expect(failure([greeting("003.008"), "00", length, reason])).toMatchObject({
    code: "authentication-failed",
    message: /too many tries$/,
  });
});

test("the answer to a challenge is the one that known servers take, of the first 8 bytes", () => {
  const challenge = Buffer.from("0123456789abcdef0123456789abcdef", "hex");
  // From LibVNCServer's rfbEncryptBytes.
  assert.equal(vncResponse(challenge, "password").length, 16);
  assert.deepEqual(vncResponse(challenge, "password and more"), vncResponse(challenge, "password"));
  assert.notDeepEqual(vncResponse(challenge, "passwore"), vncResponse(challenge, "password"));
});

test("a password file is the one that vncpasswd writes", () => {
  assert.equal(vncPasswordFile("password").toString("hex"), "dbd83cfd727a1458");
});
