import ssh2 from "ssh2";
import { expect, test } from "vitest";
import { generateSshKeyPair } from "./generate_ssh_key_pair.ts";

test("generateSshKeyPair() makes keys that can be read, every time", { timeout: 60_000 }, () => {
  const unreadable = Array.from({ length: 2_000 }, generateSshKeyPair).filter(
    (pair) =>
      ssh2.utils.parseKey(pair.private) instanceof Error || ssh2.utils.parseKey(pair.public) instanceof Error,
  );
  expect(unreadable).toEqual([]);
});
