import type { Client } from "@envport/client";
import { mcp } from "@envport/mcp";
import type { McpClient } from "@envport/mcp";
import type { Journal } from "../journal.ts";

interface Charge {
  id: number;
  item: string;
  cents: number;
  day: string;
}

/**
 * An agent without a model: it reads the ticket, looks for what the customer was charged twice, gives the later payment
 * back and closes the ticket. It sees and changes the shop's data only through the tools.
 *
 * @param client A connection whose session has started the task.
 * @param journal Told what is done.
 * @returns The answer: what was refunded.
 * @throws {Error} If there is no such charge.
 */
export async function solveTools(client: Client, _prompt: string, journal: Journal): Promise<string> {
  const tools = await client.open(mcp);
  const call = caller(tools, journal);
  const [ticket] = await call<{ id: number; customer: string }>("list_tickets");
  if (!ticket) throw new Error("there is no open ticket");
  const charges = await call<Charge>("list_charges", { customer: ticket.customer });
  const second = charges
    .filter(({ item }) => charges.filter((other) => other.item === item).length > 1)
    .toSorted((a, b) => a.day.localeCompare(b.day))
    .at(-1);
  if (!second) throw new Error("nothing was charged twice");
  await call("refund", { charge: second.id, ticket: ticket.id });
  await call("solve_ticket", { ticket: ticket.id });
  return `refunded ${String(second.cents)} cents for ${second.item}, charged again on ${second.day}`;
}

function caller(tools: McpClient, journal: Journal) {
  return async <T>(name: string, args: Record<string, unknown> = {}): Promise<T[]> => {
    const { structuredContent, isError, content } = await journal.step(
      `${name}(${JSON.stringify(args)})`,
      () => tools.callTool(name, args),
      ({ structuredContent: rows }) => JSON.stringify(rows),
    );
    if (isError) throw new Error(`${name} failed: ${JSON.stringify(content)}`);
    return (structuredContent as { rows: T[] }).rows;
  };
}
