/** Sorts intervals and joins those that overlap or touch. */
export function merge(intervals) {
  const sorted = [...intervals].sort((a, b) => a.start - b.start || a.end - b.end);
  const merged = [];
  for (const { start, end } of sorted) {
    const last = merged.at(-1);
    if (last && start < last.end) {
      last.end = Math.max(last.end, end);
    } else {
      merged.push({ start, end });
    }
  }
  return merged;
}

/** What is left of a day after its bookings, in order. */
export function gaps(bookings, day) {
  const free = [];
  let cursor = day.start;
  for (const { start, end } of merge(bookings)) {
    if (start > cursor) free.push({ start: cursor, end: Math.min(start, day.end) });
    cursor = Math.max(cursor, end);
    if (cursor >= day.end) break;
  }
  if (cursor < day.end) free.push({ start: cursor, end: day.end });
  return free;
}
