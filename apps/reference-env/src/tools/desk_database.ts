import sqlite from "node-sqlite3-wasm";
import { seededRandom } from "../seeded_random.ts";

/** A row as SQLite gives it. */
export type Row = Record<string, unknown>;

const SCHEMA = `
DROP TABLE IF EXISTS refunds;
DROP TABLE IF EXISTS charges;
DROP TABLE IF EXISTS tickets;
CREATE TABLE charges (id INTEGER PRIMARY KEY, customer TEXT, item TEXT, cents INTEGER, day TEXT);
CREATE TABLE tickets (id INTEGER PRIMARY KEY, customer TEXT, body TEXT, status TEXT DEFAULT 'open');
CREATE TABLE refunds (charge INTEGER UNIQUE REFERENCES charges (id), cents INTEGER, ticket INTEGER);
`;
const CUSTOMERS = ["ada@example.com", "bo@example.com", "cy@example.com", "dee@example.com"];
const ITEMS = ["lamp", "chair", "kettle", "rug", "clock"];
const CHARGES = 60;

/** What a customer paid. */
interface Charge {
  customer: string;
  item: string;
  cents: number;
  day: string;
}

/** The data of a shop's help desk: what customers were charged, and what they write. One of them was charged twice. */
export class DeskDatabase {
  readonly #database: InstanceType<typeof sqlite.Database>;

  /** @param file It is created if it is not there. */
  constructor(file: string) {
    this.#database = new sqlite.Database(file);
  }

  /** Begins anew; what is random comes from the seed. */
  reset(seed: number): void {
    const random = seededRandom(seed);
    const below = (limit: number): number => Math.floor(random() * limit);
    const charges: Charge[] = Array.from({ length: CHARGES }, (_, index) => ({
      customer: CUSTOMERS[below(CUSTOMERS.length)]!,
      item: `${ITEMS[below(ITEMS.length)]!} no. ${String(index)}`,
      cents: 500 + below(90_000),
      day: `2026-0${String(1 + below(9))}-${String(10 + below(19))}`,
    }));
    const twice = charges[below(CHARGES)]!;
    charges.splice(below(CHARGES), 0, { ...twice, day: "2026-10-02" });
    this.#database.exec(SCHEMA);
    for (const { customer, item, cents, day } of charges) {
      this.run("INSERT INTO charges (customer, item, cents, day) VALUES (?, ?, ?, ?)", [
        customer,
        item,
        cents,
        day,
      ]);
    }
    const body = "You took the money for one of my orders twice. Please give the second payment back.";
    this.run("INSERT INTO tickets (customer, body) VALUES (?, ?)", [twice.customer, body]);
  }

  all(sql: string, values: (string | number)[] = []): Row[] {
    return this.#database.all(sql, values);
  }

  run(sql: string, values: (string | number)[] = []): void {
    this.#database.run(sql, values);
  }

  /** 1 if the second payment, and nothing else, was refunded and the ticket is solved; 0.5 without the ticket. */
  score(): number {
    const wrong = this.all(
      "SELECT id, cents, max(day) FROM charges GROUP BY customer, item HAVING count(*) > 1",
    ).map(({ id, cents }) => ({ id, cents }));
    const refunds = this.all("SELECT charge AS id, cents FROM refunds");
    if (JSON.stringify(refunds) !== JSON.stringify(wrong)) return 0;
    return this.all("SELECT 1 FROM tickets WHERE status = 'open'").length === 0 ? 1 : 0.5;
  }

  close(): void {
    this.#database.close();
  }
}
