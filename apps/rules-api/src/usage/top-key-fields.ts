import type { Fields } from '#limiter';
import { TOP_KEY_RANKS } from '../buckets/live-reports.js';
import { MERCHANT_ID, MOMENT } from '../http/text-formats.js';
import { PageQueryDto } from '../pagination/page-query.dto.js';

/** The query of the ranks of keys. */
export const TOP_KEY_QUERY_FIELDS = {
  limit: PageQueryDto.fields.limit,
  since: {
    kind: 'text',
    format: MOMENT,
    explanation: 'From the beginning of this hour on, at most a day ago, by the clock of Redis. From that of an hour ago unless given.',
  },
  by: {
    kind: 'choice',
    values: TOP_KEY_RANKS,
    default: 'refused',
    explanation: 'refused: keys that a rule refused most, those first. requests: keys that asked most under a rule.',
  },
  merchant: { kind: 'text', format: MERCHANT_ID, explanation: 'Only keys of this merchant.' },
} as const satisfies Fields;
