#!/usr/bin/env node
import { runCli } from "./_run_cli.ts";

const { code, stdout, stderr } = await runCli(process.argv.slice(2));
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code;
