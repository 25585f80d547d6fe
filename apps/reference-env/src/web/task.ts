import { chromium } from "@envport/cdp";
import type { Environment } from "@envport/server";
import { z } from "zod";
import { Garden } from "./garden.ts";
import { GardenServer } from "./garden_server.ts";

/** Where the browser finds the garden; it finds nothing else. */
const SITE = { name: "garden.example", port: 8080 };

/**
 * The task `web`: a garden's web application, to be used in a sandboxed browser that reaches nothing but it.
 *
 * @param env Where to register it, with its service.
 * @returns The garden's state, and its address in the browser.
 */
export async function registerWeb(env: Environment): Promise<{ garden: Garden; site: string }> {
  const garden = new Garden();
  const site = `http://${SITE.name}:${String(SITE.port)}/`;
  const server = new GardenServer(garden);
  const port = await server.listen();
  env.shutdown(() => server.close());
  env.use(chromium({ peers: [{ ...SITE, target: { host: "127.0.0.1", port } }] }));
  env
    .template("web", {
      description: "Reserve a plot in a garden's web application",
      args: z.object({ seed: z.int().default(3) }),
    })
    // eslint-disable-next-line @typescript-eslint/require-await -- a task is an async generator, whatever it does
    .run(async function* ({ seed }) {
      garden.reset(seed);
      const { name, email, months, smallest } = garden.wish;
      const answer: unknown =
        yield `At ${site} reserve the cheapest plot in full sun of at least ${String(smallest)} m² for ${name} (${email}), for ${String(months)} months. Then download the ledger, and answer with the code on the receipt.`;
      yield garden.score(answer);
    });
  return { garden, site };
}
