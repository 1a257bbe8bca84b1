import { answerConditionSchema, conditionSchema } from '../conditions/condition-fields.js';
import type { FaultReason } from '../fields/field.js';
import { LIMIT } from '../limits/limit-fields.js';
import { RULE_FIELDS } from './rule.js';
import { type JsonSchema, objectSchema, variantSchema } from '../fields/table-schema.js';

/**
 * What a JSON Schema cannot say: a rule that is refused for one of these reasons alone may fit the schema. Codes of faults end with the
 * reason; some reasons are out of reach for some fields only.
 */
export const BEYOND_THE_SCHEMA: readonly { readonly code: RegExp; readonly explanation: string }[] = [
  ...(
    [
      ['too_fast', 'A refill is at most 1,000,000 tokens a second.'],
      ['inexact', 'A refill has to be a fraction that can be counted exactly.'],
      ['too_slow', 'A bucket fills within ten years.'],
      ['too_many_steps', 'A bucket that follows the calendar fills within a number of its steps.'],
      ['surplus_of_nothing', 'A limit with the capacity 0 starts without tokens.'],
      ['not_divisible', 'The parts of a sliding window are whole microseconds.'],
      ['too_complex', 'A rule has at most 50 conditions, combined ones included, and 5 levels of them.'],
    ] as const satisfies readonly (readonly [FaultReason, string])[]
  ).map(([reason, explanation]) => ({ code: new RegExp(`\\.${reason}$`), explanation })),
  { code: /^condition\.inRanges\.malformed$/, explanation: 'A range of addresses has no bits behind its length.' },
  { code: /^condition\.to\.out_of_range$/, explanation: 'The end of a range of numbers is not less than its beginning.' },
  {
    code: /^condition\.(?:equals|in|startsWith|endsWith|contains|like)\.malformed$/,
    explanation: 'No surrogate stands alone in a text of a condition.',
  },
  {
    code: /^rule\.(?:validFrom|validTo)\.(?:malformed|out_of_range)$/,
    explanation: 'A validity ends after it has begun, and both are times that exist.',
  },
  { code: /^rule\.schedule\.weekly\.to\.not_applicable$/, explanation: 'A window of a schedule does not end when it begins.' },
  {
    code: /^rule\.cost\.(?:min|ifAbsent)\.out_of_range$/,
    explanation: 'What a request costs at least, or without its field, is not above max.',
  },
  { code: /^rule\.reserve\.name\.repeated$/, explanation: 'The shares that a rule reserves have different names.' },
  { code: /^rule\.reserve\.percent\.out_of_range$/, explanation: 'All shares that a rule reserves are at most 99 percent together.' },
  { code: /^limit\.name\.repeated$/, explanation: 'The limits of a rule have different names.' },
  { code: /^(?:limit|rule\.schedule)\.timeZone\.malformed$/, explanation: 'A time zone is one that the server knows.' },
  {
    code: /^rule\.(?:match|reserve)\.paths\.malformed$/,
    explanation: 'Wildcards and dots stand only at certain places of a path pattern.',
  },
  {
    code: /^rule\.(?:name|note|labels|reserve\.name)\.malformed$/,
    explanation: 'The length of a text counts UTF-16 code units, and no surrogate stands alone.',
  },
];

/** JSON Schema, draft 2020-12, of what an administrator writes. */
export function ruleSchema(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Rule',
    description: 'A rule of Tollgate as an administrator writes it.',
    $comment: `Not everything can be said here. ${BEYOND_THE_SCHEMA.map(({ explanation }) => explanation).join(' ')}`,
    ...objectSchema(RULE_FIELDS),
    $defs: {
      ...Object.fromEntries(Object.entries(LIMIT.variants).map(([name, variant]) => [name, variantSchema(name, variant, LIMIT)])),
      condition: conditionSchema(),
      answerCondition: answerConditionSchema(),
    },
  };
}
