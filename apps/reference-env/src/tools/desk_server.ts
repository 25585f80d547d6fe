import { McpServer } from "@modelcontextprotocol/server";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { DeskDatabase, Row } from "./desk_database.ts";

const outputSchema = z.object({ rows: z.array(z.record(z.string(), z.unknown())) });

/**
 * The help desk's tools, for one client; all clients see the same data.
 *
 * @param desk The data.
 */
export function createDeskServer(desk: DeskDatabase): McpServer {
  const server = new McpServer({ name: "help-desk", version: "1.0.0" });
  server.registerTool(
    "list_tickets",
    { description: "Tickets that nobody has solved yet", inputSchema: z.object({}), outputSchema },
    () => answer(desk.all("SELECT id, customer, body FROM tickets WHERE status = 'open'")),
  );
  server.registerTool(
    "list_charges",
    {
      description: "What a customer was charged",
      inputSchema: z.object({ customer: z.string() }),
      outputSchema,
    },
    ({ customer }) =>
      answer(desk.all("SELECT id, item, cents, day FROM charges WHERE customer = ? ORDER BY id", [customer])),
  );
  server.registerTool(
    "refund",
    {
      description: "Gives a charge back, in full, once",
      inputSchema: z.object({ charge: z.int(), ticket: z.int() }),
      outputSchema,
    },
    ({ charge, ticket }) => answer([refund(desk, charge, ticket)]),
  );
  server.registerTool(
    "solve_ticket",
    { description: "Marks a ticket as solved", inputSchema: z.object({ ticket: z.int() }), outputSchema },
    ({ ticket }) => {
      desk.run("UPDATE tickets SET status = 'solved' WHERE id = ?", [ticket]);
      return answer(desk.all("SELECT id, status FROM tickets WHERE id = ?", [ticket]));
    },
  );
  return server;
}

function refund(desk: DeskDatabase, charge: number, ticket: number): Row {
  const [found] = desk.all("SELECT cents FROM charges WHERE id = ?", [charge]);
  if (!found) throw new Error(`There is no charge ${String(charge)}`);
  const cents = found["cents"] as number;
  if (desk.all("SELECT 1 FROM refunds WHERE charge = ?", [charge]).length > 0) {
    throw new Error(`Charge ${String(charge)} was refunded before`);
  }
  desk.run("INSERT INTO refunds (charge, cents, ticket) VALUES (?, ?, ?)", [charge, cents, ticket]);
  return { charge, cents };
}

function answer(rows: Row[]): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(rows) }], structuredContent: { rows } };
}
