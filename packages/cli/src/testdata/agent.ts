import type { Client, Task } from "@envport/client";
import { ssh } from "@envport/ssh";
import { greeting } from "./greeting.ts";

export default async function greet(_client: Client, task: Task): Promise<string> {
  console.log("the agent prints", task.promptText);
  return `${greeting} world`;
}

export async function write(client: Client): Promise<void> {
  const shell = await client.open(ssh);
  await shell.run("echo 42 > answer.txt");
}

export async function breaks(): Promise<never> {
  throw new Error("no idea");
}

export async function dawdles(
  _client: Client,
  _task: Task,
  { signal }: { signal: AbortSignal },
): Promise<void> {
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

export const motto = "not a function";
