import os from "node:os";
import type { ExitStatus } from "@envport/ssh";
import { ExitCode } from "./exit_code.ts";

/** As a shell tells of a process: its code, or 128 and the signal that ended it. */
export function exitCodeOf({ code, signal }: ExitStatus): number {
  if (code !== null) return code;
  const number = (os.constants.signals as Record<string, number | undefined>)[signal ?? ""];
  return number === undefined ? ExitCode.notRun : 128 + number;
}
