import { cdp } from "@envport/cdp";
import type { CdpPage } from "@envport/cdp";
import type { Client } from "@envport/client";
import { once } from "node:events";
import type { Journal } from "../journal.ts";
import { READ_TABLE, choose, readPrompt } from "./wish.ts";
import type { Row, Wish } from "./wish.ts";

/**
 * An agent without a model: it reads the table of plots in the browser, fills the form, says yes to the dialog, reads the
 * receipt in its window and downloads the ledger. It knows of the garden only what the pages show.
 *
 * @param client A connection whose session has started the task.
 * @param prompt Says what to reserve, and for whom.
 * @param journal Told what is done; gets pictures of the pages.
 * @returns The receipt's code.
 * @throws {Error} If the prompt or the pages are not as expected.
 */
export async function solveWeb(client: Client, prompt: string, journal: Journal): Promise<string> {
  const wish = readPrompt(prompt);
  const browser = await client.open(cdp);
  const { page } = browser;
  const look = async (what: CdpPage, caption: string): Promise<void> => {
    journal.picture(caption, await what.screenshot());
  };
  const act = (what: string, run: () => Promise<void>): Promise<void> =>
    journal.step(what, run, () => page.url);

  await act(`goto ${wish.site}`, () => page.goto(wish.site));
  const plot = choose(await page.evaluate<Row[]>(READ_TABLE), wish);
  await look(page, "The plots");
  await act(`click Reserve of plot ${plot.id}`, () => page.click(`tr[data-plot="${plot.id}"] a`));
  await page.waitForIdle();
  await act("fill the form", () => fill(page, wish));
  await look(page, "The form");

  let asked = "";
  page.once("dialog", (dialog) => {
    asked = dialog.message;
    void dialog.accept();
  });
  await act("click Reserve", () => page.click("#reserve"));
  await page.waitForIdle();
  if (!asked.includes(plot.id)) throw new Error(`the dialog asked something else: ${asked}`);

  const receipt = await journal.step(
    "open the receipt",
    async () => {
      const [[popup]] = await Promise.all([
        once(browser, "page") as Promise<[CdpPage]>,
        page.click("#receipt"),
      ]);
      return popup;
    },
    ({ url }) => url,
  );
  await receipt.waitForIdle();
  await look(receipt, "The receipt, in a window of its own");
  const code = await receipt.evaluate<string>('document.querySelector(".code").textContent');
  await receipt.close();
  await act("download the ledger", () => page.click("#ledger"));
  await page.waitForIdle();
  return code;
}

async function fill(page: CdpPage, { name, email, months }: Wish): Promise<void> {
  await page.type(name, { into: "#name" });
  await page.type(email, { into: "#email" });
  await page.evaluate('document.querySelector("#months").focus()');
  await page.type(String(months)); // a list takes what is typed as the beginning of an entry
  await page.click("#terms");
}
