/** "09:30" → 570. */
export function parseTime(text) {
  const match = /^(\d{1,2}):(\d{2})$/.exec(text);
  if (!match) throw new TypeError(`not a time of day: ${text}`);
  const [hours, minutes] = match.slice(1).map(Number);
  if (hours > 24 || minutes > 59 || hours * 60 + minutes > 1440)
    throw new RangeError(`no such time: ${text}`);
  return hours * 60 + minutes;
}

/** 570 → "09:30". */
export function formatTime(minutes) {
  const hours = Math.floor(minutes / 60);
  return `${String(hours).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}
