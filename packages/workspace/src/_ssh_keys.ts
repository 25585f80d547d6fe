import { generateSshKeyPair } from "@envport/ssh";
import { EnvportError } from "@envport/wire";
import { timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { AuthContext, ParsedKey } from "ssh2";
import { ssh2 } from "./_ssh2.ts";

/** The keys of a workspace. */
export interface WorkspaceKeys {
  /** The server's private key. */
  readonly host: string;
  /** Its public half, in one line. */
  readonly hostPubkey: string;
  /** The private key that clients get with the binding; undefined where only keys of their own are let in. */
  readonly client: string | undefined;
  /** The public keys that may log in. */
  readonly authorized: readonly ParsedKey[];
}

/** Where keys come from that are not made at start. */
export interface KeySources {
  hostKeyPath?: string | undefined;
  authorizedClientKeys?: readonly string[] | undefined;
}

/**
 * Reads the keys that the caller has, and makes the others: ed25519, in memory.
 *
 * @param sources Paths of a private host key and of public client keys.
 * @throws {EnvportError} `service-failed` If a file cannot be read, or is no such key.
 */
export async function loadKeys({ hostKeyPath, authorizedClientKeys }: KeySources): Promise<WorkspaceKeys> {
  const host = hostKeyPath === undefined ? generateSshKeyPair().private : await read(hostKeyPath);
  const parsed = parse(host, hostKeyPath ?? "made at start");
  if (!parsed.isPrivateKey()) throw unusable(hostKeyPath!, "it must be a private key");
  const hostPubkey = `${parsed.type} ${parsed.getPublicSSH().toString("base64")}`;
  if (authorizedClientKeys !== undefined) {
    const keys = authorizedClientKeys.map(async (path) => parse(await read(path), path));
    return { host, hostPubkey, client: undefined, authorized: await Promise.all(keys) };
  }
  const client = generateSshKeyPair();
  return { host, hostPubkey, client: client.private, authorized: [parse(client.public, "made at start")] };
}

/**
 * Whether a login attempt proves one of the authorized keys. Every key is compared, each in constant time.
 *
 * @param context The attempt; anything but a public key is refused.
 * @param authorized The keys that may log in.
 */
export function provesKey(context: AuthContext, authorized: readonly ParsedKey[]): boolean {
  if (context.method !== "publickey") return false;
  let match: ParsedKey | undefined;
  for (const key of authorized) {
    const [ours, theirs] = [key.getPublicSSH(), context.key.data];
    if (ours.length === theirs.length && timingSafeEqual(ours, theirs)) match = key;
  }
  if (!match) return false;
  if (!context.signature) return true; // a question, not a login: ssh2 answers that the key would do
  const result: unknown = match.verify(context.blob!, context.signature, context.hashAlgo);
  return result === true; // it may be an Error
}

function parse(text: string, path: string): ParsedKey {
  const key = ssh2().utils.parseKey(text);
  if (key instanceof Error) throw unusable(path, "it must be a key in OpenSSH's format", key);
  return Array.isArray(key) ? (key[0] as ParsedKey) : key;
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw unusable(path, "it must be readable", error);
  }
}

function unusable(path: string, rule: string, cause?: unknown): EnvportError {
  return new EnvportError("service-failed", `Cannot use SSH key as ${rule}: current value is '${path}'`, {
    cause,
  });
}
