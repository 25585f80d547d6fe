import type { Garden, Plot, Reservation } from "./garden.ts";

const STYLE = `
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #22301f; background: #f6f7f1; }
header { padding: 16px 32px; background: #2f5d3a; color: #fff; display: flex; gap: 24px; align-items: baseline; }
header a { color: #fff; }
main { padding: 24px 32px; max-width: 900px; }
table { border-collapse: collapse; width: 100%; background: #fff; }
th, td { text-align: left; padding: 6px 12px; border-bottom: 1px solid #dfe3d6; }
label { display: block; margin: 12px 0 4px; }
input[type=text], input[type=email], select { font: inherit; padding: 6px 8px; width: 320px; }
button, .button { font: inherit; padding: 6px 14px; background: #2f5d3a; color: #fff; border: 0; border-radius: 4px; cursor: pointer; text-decoration: none; }
.code { font-size: 28px; font-weight: 700; letter-spacing: 1px; }
`;

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><style>${STYLE}</style>
<header><strong>Elm Street Garden</strong><a href="/">Plots</a><a id="ledger" href="/ledger.csv" download>Ledger (CSV)</a></header>
<main><h1>${title}</h1>${body}</main></html>`;
}

/** The plots as a table; what is taken cannot be reserved. */
export function plotsPage({ plots, reservations }: Garden): string {
  const taken = new Set(reservations.map(({ plot }) => plot));
  const rows = plots.map(
    ({
      id,
      area,
      light,
      price,
    }) => `<tr data-plot="${String(id)}"><td>${String(id)}</td><td>${String(area)} m²</td>
<td>${light}</td><td>${price.toFixed(2)} €</td>
<td>${taken.has(id) ? "taken" : `<a href="/plots/${String(id)}">Reserve</a>`}</td></tr>`,
  );
  return page(
    "Plots",
    `<table><thead><tr><th>Plot</th><th>Area</th><th>Light</th><th>A month</th><th></th></tr></thead>
<tbody>${rows.join("")}</tbody></table>`,
  );
}

/** A form that asks once more before it is sent. */
export function plotPage({ id, area, light, price }: Plot): string {
  return page(
    `Reserve plot ${String(id)}`,
    `<p>${String(area)} m², ${light}, ${price.toFixed(2)} € a month.</p>
<form method="post" action="/plots/${String(id)}" onsubmit="return confirm('Reserve plot ${String(id)} for ' + this.months.value + ' months?')">
<label for="name">Name</label><input type="text" id="name" name="name" required>
<label for="email">E-mail</label><input type="email" id="email" name="email" required>
<label for="months">Months</label><select id="months" name="months"><option>3</option><option>6</option><option>12</option></select>
<label><input type="checkbox" id="terms" name="terms" required> I have read the garden's rules</label>
<p><button id="reserve">Reserve</button></p></form>`,
  );
}

/** Says that it went well; the code is in a window of its own. */
export function thanksPage({ plot }: Reservation, index: number): string {
  return page(
    `Plot ${String(plot)} is reserved`,
    `<p>Your code is on the receipt.</p>
<p><button id="receipt" onclick="window.open('/receipts/${String(index)}', '_blank', 'width=420,height=320')">Open the receipt</button></p>`,
  );
}

/** The receipt, with the code. */
export function receiptPage({ plot, name, months, code }: Reservation): string {
  return page(
    "Receipt",
    `<p>Plot ${String(plot)} for ${escape(name)}, ${String(months)} months</p><p class="code">${code}</p>`,
  );
}

/** What has been reserved, as comma-separated values; codes are not in it. */
export function ledger({ reservations }: Garden): string {
  const rows = reservations.map(
    ({ plot, name, months }) => `${String(plot)},"${name.replaceAll('"', '""')}",${String(months)}`,
  );
  return ["plot,name,months", ...rows, ""].join("\r\n");
}

function escape(raw: string): string {
  return raw.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
