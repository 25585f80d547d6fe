import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Capability } from "@envport/wire";
import { own, parseCapabilityUrl } from "@envport/wire";

/** The files that OpenSSH needs to log in at a routed binding, for as long as it is forwarded. */
export class SshFiles implements Disposable {
  /** The words of an `ssh` command that logs in. */
  readonly command: readonly string[];
  readonly #folder: string;

  /** @param binding An `ssh/2` binding whose url can be dialled from here. */
  constructor({ url, params }: Capability) {
    const { host, port = 22 } = parseCapabilityUrl(url);
    const [user, key, hostKey] = ["user", "client_key", "host_pubkey"].map((name) => textOf(params, name));
    this.#folder = mkdtempSync(path.join(os.tmpdir(), "envport-ssh-"));
    const write = (name: string, text: string): string => {
      const file = path.join(this.#folder, name);
      writeFileSync(file, text, { mode: 0o600 });
      return file;
    };
    const words = ["ssh", "-F", "none", "-p", String(port)];
    if (key !== undefined)
      words.push("-i", write("key", key.endsWith("\n") ? key : `${key}\n`), "-o", "IdentitiesOnly=yes");
    if (hostKey !== undefined) {
      words.push(
        "-o",
        `UserKnownHostsFile=${write("known_hosts", `[${host}]:${String(port)} ${hostKey}\n`)}`,
      );
    }
    this.command = [...words, `${user ?? "agent"}@${host}`];
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function textOf(params: Capability["params"], name: string): string | undefined {
  const value = own(params, name);
  return typeof value === "string" && value !== "" ? value : undefined;
}
