/** Whether the name of a time zone is known here. */
export function isTimeZone(value: unknown): value is string {
  // Intl also takes offsets like +01:00, which follow no calendar.
  if (typeof value !== 'string' || !TIME_ZONE_PATTERN.test(value)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return true;
  } catch {
    return false;
  }
}

export const TIME_ZONE_PATTERN = /^[A-Za-z][\w+/-]{0,63}$/;
