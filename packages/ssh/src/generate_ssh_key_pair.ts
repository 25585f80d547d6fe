import ssh2 from "ssh2";

/** A key pair in the text forms that OpenSSH reads. */
export interface SshKeyPair {
  /** The whole private key, as in a key file. */
  private: string;
  /** One line: type and key. */
  public: string;
}

/**
 * Makes an ed25519 key pair, in memory.
 *
 * About one in 220 private keys that `ssh2` 1.17 writes is malformed: nothing reads it, `ssh2` itself included. Such a
 * one is dropped and another made.
 *
 * @example
 * ```ts
 * import { generateSshKeyPair } from "@envport/ssh";
 * import assert from "node:assert/strict";
 *
 * assert.match(generateSshKeyPair().public, /^ssh-ed25519 /);
 * ```
 */
export function generateSshKeyPair(): SshKeyPair {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync("ed25519");
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair;
  }
}
