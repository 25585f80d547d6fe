import { filetracking } from "./filetracking.ts";
import { quiz } from "./quiz.ts";
import { ssh } from "./ssh.ts";
import type { Template } from "./template.ts";

/** What `envport init --with` offers; the next capability is one file and one line here. */
export const TEMPLATES: readonly Template[] = [ssh, filetracking, quiz];

/** What is made if nothing else is asked for. */
export const DEFAULT_TEMPLATES: readonly string[] = ["ssh", "filetracking"];
