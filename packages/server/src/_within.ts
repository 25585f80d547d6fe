/** What `setTimeout` can hold, in milliseconds; it takes anything longer for none. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;

/**
 * Waits for work, but not longer than a time; what is not done then goes on unobserved.
 *
 * @param work What to wait for.
 * @param milliseconds The bound.
 * @returns Whether the work was done in time.
 * @throws What the work rejects with in time.
 */
export async function within(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(resolve, milliseconds, false)));
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
