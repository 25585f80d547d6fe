import type { Environment } from "@envport/server";
import type { Workspace } from "@envport/workspace";
import { z } from "zod";
import type { DeskDatabase } from "../tools/desk_database.ts";
import type { Garden } from "../web/garden.ts";

/** Where the answer goes, in the workspace. */
const FILE = "booking.json";

/** What the task needs of the others. */
export interface TogetherParts {
  shell: Workspace;
  desk: DeskDatabase;
  garden: Garden;
  /** The garden's address in the browser. */
  site: string;
}

/**
 * The task `together`: what the tools know and what the browser shows has to be put into a file in the shell.
 *
 * @param env Where to register it.
 * @param parts What the other tasks have.
 */
export function registerTogether(env: Environment, { shell, desk, garden, site }: TogetherParts): void {
  env
    .template("together", {
      description: "Bring together what tools, browser and shell know",
      args: z.object({ seed: z.int().default(11) }),
    })
    .run(async function* ({ seed }) {
      desk.reset(seed);
      garden.reset(seed);
      await shell.run(["rm", "-f", FILE]);
      const { smallest } = garden.wish;
      yield `The help desk has an open ticket. Its customer wants the cheapest plot in full sun of at least ${String(smallest)} m² at ${site}. Write /workspace/${FILE} with {"customer": the ticket's customer, "plot": the plot's number, "price": euros a month}; reserve nothing.`;
      const [ticket] = desk.all("SELECT customer FROM tickets");
      const wanted = {
        customer: ticket?.["customer"],
        plot: garden.wanted.id,
        price: garden.wanted.price.toFixed(2),
      };
      const isUntouched = garden.reservations.length === 0 && desk.all("SELECT 1 FROM refunds").length === 0;
      yield isUntouched && isSame(await read(shell), wanted) ? 1 : 0;
    });
}

/** What is in the file; undefined if it is not there, or no JSON. */
async function read(shell: Workspace): Promise<Record<string, unknown> | undefined> {
  try {
    return JSON.parse(await shell.readFile(FILE, { encoding: "utf8", maxBytes: 10_000 })) as Record<
      string,
      unknown
    >;
  } catch {
    return undefined;
  }
}

function isSame(
  found: Record<string, unknown> | undefined,
  wanted: { customer: unknown; plot: number; price: string },
): boolean {
  if (typeof found !== "object") return false;
  const { customer, plot, price } = found;
  return customer === wanted.customer && plot === wanted.plot && Number(price).toFixed(2) === wanted.price;
}
