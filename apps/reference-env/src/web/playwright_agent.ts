import { cdp } from "@envport/cdp";
import type { Client } from "@envport/client";
import type { Journal } from "../journal.ts";
import { READ_TABLE, choose, readPrompt } from "./wish.ts";
import type { Row } from "./wish.ts";

const ignore = (): void => {};

/**
 * The agent of the task `web` once more, with Playwright over the same tunnel.
 *
 * @param client A connection whose session has started the task.
 * @param prompt Says what to reserve, and for whom.
 * @param journal Told what is done; gets pictures of the pages.
 * @returns The receipt's code.
 */
export async function solveWebByPlaywright(
  client: Client,
  prompt: string,
  journal: Journal,
): Promise<string> {
  const wish = readPrompt(prompt);
  const opened = await client.open(cdp);
  opened.on("dialog", ignore); // Playwright answers
  const browser = await opened.playwright();
  const page = await browser.contexts()[0]!.newPage();
  const act = (what: string, run: () => Promise<unknown>): Promise<unknown> =>
    journal.step(what, run, () => page.url());
  try {
    await act(`page.goto("${wish.site}")`, () => page.goto(wish.site));
    const rows = await page.evaluate<Row[]>(READ_TABLE);
    const plot = choose(rows, wish);
    await act("link.click()", () =>
      page
        .getByRole("row", { name: new RegExp(`^${plot.id}`) })
        .getByRole("link")
        .click(),
    );
    await act("fill the form", async () => {
      await page.getByLabel("Name").fill(wish.name);
      await page.getByLabel("E-mail").fill(wish.email);
      await page.getByLabel("Months").selectOption(String(wish.months));
      await page.getByLabel("I have read").check();
    });
    const asked = page.waitForEvent("dialog").then((dialog) => dialog.accept());
    await act("button.click()", () => page.getByRole("button", { name: "Reserve" }).click());
    await asked;
    const popup = page.waitForEvent("popup");
    await act("open the receipt", () => page.getByRole("button", { name: "Open the receipt" }).click());
    const receipt = await popup;
    const code = await receipt.locator(".code").innerText();
    journal.picture("The receipt, as Playwright sees it", await receipt.screenshot());
    await receipt.close();
    // What a click downloads lands with the browser, and Playwright does not hear of it: the page fetches it instead.
    await act("fetch the ledger", () =>
      page.evaluate("fetch('/ledger.csv').then((response) => response.text())"),
    );
    return code;
  } finally {
    opened.off("dialog", ignore);
    await page.close();
    await browser.close();
  }
}
