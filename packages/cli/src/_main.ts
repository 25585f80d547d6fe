#!/usr/bin/env node
import { COMMANDS } from "./_commands.ts";
import { runCli } from "./_run_cli.ts";
import { ExitCode } from "./exit_code.ts";

// `envport … | head` ends with head.
process.stdout.on("error", () => process.exit(ExitCode.outputGone));
// What is left running belongs to modules of users, and does not hold the command up.
process.exit(await runCli(process.argv.slice(2), COMMANDS));
