import { seededRandom } from "../seeded_random.ts";

/** A plot of the community garden. */
export interface Plot {
  readonly id: number;
  /** In square metres. */
  readonly area: number;
  readonly light: "full sun" | "half shade" | "shade";
  /** In euros a month. */
  readonly price: number;
}

/** What somebody has reserved. */
export interface Reservation {
  readonly plot: number;
  readonly name: string;
  readonly email: string;
  readonly months: number;
  /** Told on the receipt only. */
  readonly code: string;
}

/** What the task asks for. */
export interface Wish {
  readonly name: string;
  readonly email: string;
  readonly months: number;
  /** In square metres. */
  readonly smallest: number;
}

const LIGHTS = ["full sun", "half shade", "shade"] as const;
const PLOTS = 24;

/** The state of a community garden that rents out plots: what its web application shows and changes. */
export class Garden {
  plots: readonly Plot[] = [];
  wish: Wish = { name: "", email: "", months: 0, smallest: 0 };
  reservations: Reservation[] = [];
  ledgerDownloads = 0;
  #random: () => number = () => 0;

  /** Begins anew; what is random comes from the seed. */
  reset(seed: number): void {
    const random = seededRandom(seed);
    const below = (limit: number): number => Math.floor(random() * limit);
    this.plots = Array.from({ length: PLOTS }, (_, index) => ({
      id: 101 + index,
      area: 20 + 5 * below(13),
      light: LIGHTS[below(LIGHTS.length)]!,
      // No two plots have the same price: there is one answer.
      price: 12 + 2 * below(15) + index / 100,
    }));
    const names = ["Rosa Lindqvist", "Omar Haddad", "Mei Tanaka", "Jonas Okafor"];
    const name = names[below(names.length)]!;
    this.wish = {
      name,
      email: `${name.split(" ")[0]!.toLowerCase()}@garden.example`,
      months: [3, 6, 12][below(3)]!,
      smallest: 35 + 5 * below(4),
    };
    this.reservations = [];
    this.ledgerDownloads = 0;
    this.#random = random;
  }

  /** The plot that is wanted: the cheapest in full sun that is large enough. */
  get wanted(): Plot {
    const fitting = this.plots.filter(
      ({ light, area }) => light === "full sun" && area >= this.wish.smallest,
    );
    return fitting.reduce((best, plot) => (plot.price < best.price ? plot : best));
  }

  reserve(request: Omit<Reservation, "code">): Reservation {
    const code = `GP-${String(Math.floor(this.#random() * 1e6)).padStart(6, "0")}`;
    const reservation = { ...request, code };
    this.reservations.push(reservation);
    return reservation;
  }

  /**
   * 1 if the wanted plot, and nothing else, was reserved as wished, the ledger was downloaded and the receipt's code is the
   * answer; a half if only the reservation is right.
   */
  score(answer: unknown): number {
    const [made, ...others] = this.reservations;
    const { name, email, months } = this.wish;
    if (!made || others.length > 0 || made.plot !== this.wanted.id) return 0;
    if (made.name !== name || made.email !== email || made.months !== months) return 0;
    return this.ledgerDownloads > 0 && answer === made.code ? 1 : 0.5;
  }
}
