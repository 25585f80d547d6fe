import assert from "node:assert/strict";
import { test } from "vitest";
import { sshCapability } from "./ssh_capability.ts";

test("sshCapability() makes scheme and port explicit", () => {
  const url = (text: string): string => sshCapability({ url: text, hostPubkey: "ssh-ed25519 A" }).url;
  assert.equal(url("host"), "ssh://host:22");
  assert.equal(url("host:2200"), "ssh://host:2200");
  assert.equal(url("[::1]"), "ssh://[::1]:22");
  assert.equal(url("ssh://agent@host"), "ssh://agent@host:22");
});

test("sshCapability() uses the wire's names and leaves out what is not given", () => {
  const capability = sshCapability({ url: "h", hostPubkey: "ssh-ed25519 A\n", shell: "bash" });
  assert.deepEqual(capability, {
    name: "shell",
    protocol: "ssh/2",
    url: "ssh://h:22",
    params: { user: "agent", host_pubkey: "ssh-ed25519 A", shell: "bash" },
  });
  const whole = sshCapability({
    name: "box",
    url: "h",
    user: "me",
    hostPubkey: "k",
    clientKey: "c",
    clientKeyPath: "/p",
    shell: "powershell",
    cwd: "/workspace",
    isolation: "bwrap",
  });
  assert.deepEqual(Object.keys(whole.params).sort(), [
    "client_key",
    "client_key_path",
    "cwd",
    "host_pubkey",
    "isolation",
    "shell",
    "user",
  ]);
});

test("sshCapability() refuses an empty host key", () => {
  assert.throws(() => sshCapability({ url: "h", hostPubkey: " " }), TypeError);
});
