import type { TextFormat } from '#limiter';

const EXPECTED = 'must be a time with a zone like 2026-11-22T10:00:00Z';

/** RFC 3339. */
const FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** A moment with its zone: a time without one would be another moment for each reader. */
export const MOMENT: TextFormat = {
  expected: EXPECTED,
  fault: (text) => (FORM.test(text) && !Number.isNaN(Date.parse(text)) ? undefined : EXPECTED),
  schema: { pattern: FORM.source },
};
