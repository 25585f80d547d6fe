import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);
/** Keys of media and the like, which no program needs here. */
const DISPENSABLE = /^keycode\s+(\d+) = XF86/;
const TIMEOUT_MS = 10_000;

/**
 * Clears keys that no program needs. A server makes of cleared ones what is typed and has no key: of its 19 Cyrillic
 * alone takes more.
 *
 * @param env With `DISPLAY` and `XAUTHORITY`.
 * @returns How many.
 */
export async function clearSpareKeys(env: Readonly<Record<string, string | undefined>>): Promise<number> {
  const options = { env, timeout: TIMEOUT_MS };
  const { stdout } = await execute("xmodmap", ["-pke"], options);
  const codes = stdout.split("\n").flatMap((line) => DISPENSABLE.exec(line)?.[1] ?? []);
  if (codes.length > 0) {
    await execute(
      "xmodmap",
      codes.flatMap((code) => ["-e", `keycode ${code} =`]),
      options,
    );
  }
  return codes.length;
}
