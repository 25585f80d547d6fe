import { gaps, merge } from "./intervals.js";
import { formatTime, parseTime } from "./time.js";

/** A meeting room with its bookings of one day. */
export class Room {
  #bookings = [];

  constructor({ opens = "08:00", closes = "18:00" } = {}) {
    this.day = { start: parseTime(opens), end: parseTime(closes) };
  }

  book(from, to) {
    const booking = { start: parseTime(from), end: parseTime(to) };
    if (booking.start >= booking.end) throw new RangeError("a booking must end after it begins");
    this.#bookings.push(booking);
    return this;
  }

  /** How many separate stretches of time the room is taken. */
  get stretches() {
    return merge(this.#bookings).length;
  }

  /** The first free slot of at least so many minutes, as "09:30–10:00". */
  firstFree(minutes) {
    const slot = gaps(this.#bookings, this.day).find(({ start, end }) => end - start >= minutes);
    return slot && `${formatTime(slot.start)}–${formatTime(slot.start + minutes)}`;
  }
}
