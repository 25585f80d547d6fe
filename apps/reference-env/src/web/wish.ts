/** What the prompt asks for. */
export interface Wish {
  site: string;
  /** In square metres. */
  smallest: number;
  name: string;
  email: string;
  months: number;
}

/** A row of the table of plots, as the page shows it. */
export interface Row {
  id: string;
  area: number;
  light: string;
  price: number;
}

/** Reads the table of plots in the page: an array of rows. */
export const READ_TABLE: string = `[...document.querySelectorAll("tr[data-plot]")].map((row) => {
  const [id, area, light, price] = [...row.cells].map((cell) => cell.textContent.trim());
  return { id, area: parseFloat(area), light, price: parseFloat(price) };
})`;

const PROMPT_REGEXP = /At (\S+) reserve .* at least (\d+) m² for (.+) \((\S+)\), for (\d+) months/;

/** @throws {Error} If the prompt says something else than expected. */
export function readPrompt(prompt: string): Wish {
  const [, site, smallest, name, email, months] = PROMPT_REGEXP.exec(prompt) ?? [];
  if (!site || !name || !email) throw new Error("the prompt says something else than expected");
  return { site, name, email, smallest: Number(smallest), months: Number(months) };
}

/** The cheapest plot that is wanted. */
export function choose(rows: readonly Row[], { smallest }: Pick<Wish, "smallest">): Row {
  const [cheapest] = rows
    .filter(({ light, area }) => light === "full sun" && area >= smallest)
    .toSorted((a, b) => a.price - b.price);
  if (!cheapest) throw new Error("no plot is sunny and large enough");
  return cheapest;
}
