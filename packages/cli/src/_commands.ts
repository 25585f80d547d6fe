import type { Command } from "./_command.ts";
import { completionCommand } from "./commands/completion.ts";
import { connectCommand } from "./commands/connect.ts";
import { execCommand } from "./commands/exec.ts";
import { forwardCommand } from "./commands/forward.ts";
import { initCommand } from "./commands/init.ts";
import { openCommand } from "./commands/open.ts";
import { runCommand } from "./commands/run.ts";
import { serveCommand } from "./commands/serve.ts";
import { taskGradeCommand } from "./commands/task_grade.ts";
import { taskListCommand } from "./commands/task_list.ts";
import { taskStartCommand } from "./commands/task_start.ts";

/** Every command, in the order of the list of help: the one table that help, completion and dispatch share. */
export const COMMANDS: readonly Command[] = [
  initCommand,
  serveCommand,
  taskListCommand,
  taskStartCommand,
  taskGradeCommand,
  runCommand,
  connectCommand,
  openCommand,
  forwardCommand,
  execCommand,
  completionCommand,
];
