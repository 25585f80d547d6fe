/** Lets one piece of work run at a time, in order. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  async run<T>(work: () => Promise<T> | T): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return await result;
  }
}
