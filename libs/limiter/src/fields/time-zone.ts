/** What was asked before: there are some hundred names, and asking Intl takes as long as all the rest of a rule. Forgotten when it is full. */
const asked = new Map<string, boolean>();
const MOST_ASKED = 2_000;

/** Whether the name of a time zone is known here. */
export function isTimeZone(value: unknown): value is string {
  // Intl also takes offsets like +01:00, which follow no calendar.
  if (typeof value !== 'string' || !TIME_ZONE_PATTERN.test(value)) return false;
  let known = asked.get(value);
  if (known === undefined) {
    known = isKnownToIntl(value);
    if (asked.size >= MOST_ASKED) asked.clear();
    asked.set(value, known);
  }
  return known;
}

function isKnownToIntl(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

export const TIME_ZONE_PATTERN = /^[A-Za-z][\w+/-]{0,63}$/;
