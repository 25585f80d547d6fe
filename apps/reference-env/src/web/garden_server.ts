import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Garden, Plot } from "./garden.ts";
import { ledger, plotPage, plotsPage, receiptPage, thanksPage } from "./garden_pages.ts";

/** What a request is answered with. */
interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body: string;
}

/** The garden's web application, on a port of this machine that only the sandboxed browser is told of. */
export class GardenServer {
  readonly #garden: Garden;
  readonly #server: http.Server;

  constructor(garden: Garden) {
    this.#garden = garden;
    this.#server = http.createServer((request, response) => {
      void this.#serve(request, response);
    });
  }

  /** @returns The port. */
  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://garden");
    const form = request.method === "POST" ? new URLSearchParams(await text(request)) : undefined;
    const { status = 200, headers = {}, body } = this.#answer(pathname, form);
    response.writeHead(status, { "Content-Type": "text/html; charset=utf-8", ...headers }).end(body);
  }

  #answer(pathname: string, form: URLSearchParams | undefined): Answer {
    const [, kind = "", id = ""] = pathname.split("/");
    const plot = kind === "plots" ? this.#garden.plots.find((one) => String(one.id) === id) : undefined;
    const reservation = kind === "receipts" ? this.#garden.reservations[Number(id)] : undefined;
    if (pathname === "/") return { body: plotsPage(this.#garden) };
    if (pathname === "/ledger.csv") return this.#ledger();
    if (plot) return form ? this.#reserve(plot, form) : { body: plotPage(plot) };
    if (reservation) return { body: receiptPage(reservation) };
    return { status: 404, body: "There is no such page." };
  }

  #ledger(): Answer {
    this.#garden.ledgerDownloads++;
    const headers = {
      "Content-Type": "text/csv",
      "Content-Disposition": 'attachment; filename="ledger.csv"',
    };
    return { headers, body: ledger(this.#garden) };
  }

  #reserve({ id }: Plot, form: URLSearchParams): Answer {
    const field = (name: string): string => form.get(name) ?? "";
    if (this.#garden.reservations.some(({ plot }) => plot === id))
      return { status: 409, body: "It is taken." };
    if (!field("name") || !field("email") || !form.has("terms"))
      return { status: 400, body: "Something is missing." };
    const request = { plot: id, name: field("name"), email: field("email"), months: Number(field("months")) };
    const reservation = this.#garden.reserve(request);
    return { body: thanksPage(reservation, this.#garden.reservations.length - 1) };
  }
}
