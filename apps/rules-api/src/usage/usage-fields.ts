import type { Fields } from '#limiter';
import { MOMENT } from '../http/text-formats.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';

export const STEPS = ['minute', 'hour'] as const;
export const RANKS = ['refused', 'near-limit'] as const;

const SINCE = 'From this minute on, at most a day ago, by the clock of Redis.';

/** The query of a merchant's usage. */
export const USAGE_QUERY_FIELDS = {
  ...PageQueryDto.fields,
  since: {
    kind: 'text',
    format: MOMENT,
    explanation: `${SINCE} An hour ago unless given, or a day ago for steps of an hour.`,
  },
  step: { kind: 'choice', values: STEPS, default: 'minute', explanation: 'For what time numbers are added up.' },
} as const satisfies Fields;

/** The query of the ranks of all merchants. */
export const TOP_QUERY_FIELDS = {
  limit: PageQueryDto.fields.limit,
  since: { kind: 'text', format: MOMENT, explanation: `${SINCE} An hour ago unless given.` },
  by: {
    kind: 'choice',
    values: RANKS,
    default: 'refused',
    explanation:
      'refused: rules of merchants that refused most requests, those first. near-limit: those that refused none, and whose limits had half or less left after a request; those with the least first.',
  },
} as const satisfies Fields;
