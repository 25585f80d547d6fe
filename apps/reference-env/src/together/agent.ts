import { cdp } from "@envport/cdp";
import type { Client } from "@envport/client";
import { mcp } from "@envport/mcp";
import { ssh } from "@envport/ssh";
import type { Journal } from "../journal.ts";
import { READ_TABLE, choose } from "../web/wish.ts";
import type { Row } from "../web/wish.ts";

const PROMPT_REGEXP = /at least (\d+) m² at (\S+)\. Write (\S+) with/;

/**
 * An agent without a model: it asks the tools for the ticket, the browser for the plots, and writes the file in the shell.
 *
 * @param client A connection whose session has started the task.
 * @param prompt Says what is wanted.
 * @param journal Told what is done.
 * @returns What it wrote.
 * @throws {Error} If something is not as expected.
 */
export async function solveTogether(client: Client, prompt: string, journal: Journal): Promise<unknown> {
  const [, smallest, site, file] = PROMPT_REGEXP.exec(prompt) ?? [];
  if (!site || !file) throw new Error("the prompt says something else than expected");
  const [tools, browser, shell] = await Promise.all([client.open(mcp), client.open(cdp), client.open(ssh)]);
  const { structuredContent } = await journal.step(
    "list_tickets({})",
    () => tools.callTool("list_tickets", {}),
    (result) => JSON.stringify(result.structuredContent),
  );
  const [ticket] = (structuredContent as { rows: { customer: string }[] }).rows;
  if (!ticket) throw new Error("there is no open ticket");
  await journal.step(
    `goto ${site}`,
    () => browser.page.goto(site),
    () => browser.page.url,
  );
  const rows = await browser.page.evaluate<Row[]>(READ_TABLE);
  const plot = choose(rows, { smallest: Number(smallest) });
  journal.picture("The plots", await browser.page.screenshot());
  const answer = { customer: ticket.customer, plot: Number(plot.id), price: plot.price };
  await journal.step(
    `$ cat > ${file}`,
    () => shell.run(`cat > ${file}`, { input: JSON.stringify(answer) }),
    ({ exitCode }) => `exit code ${String(exitCode)}`,
  );
  return answer;
}
