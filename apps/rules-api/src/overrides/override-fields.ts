import { type Fields, LIMIT, MULTIPLY, RULE_FIELDS, scalingFields, ALGORITHM_NAMES, type Field } from '#limiter';
import { MOMENT, RULE_ID } from '../http/text-formats.js';

/** The numbers of limits that an override may replace: those that scale, of whatever algorithm. What they may be, the limit says. */
const NUMBERS = Object.fromEntries(
  ALGORITHM_NAMES.flatMap((algorithm) =>
    scalingFields(algorithm).map((name): [string, Field] => [
      name,
      {
        kind: 'whole_number',
        min: 0,
        max: 1_000_000_000,
        explanation: `In place of the ${name} of the limit. Left out, it stays.`,
        example: 50,
      },
    ]),
  ),
);

/** What is written to override a rule. */
export const OVERRIDE_FIELDS = {
  ruleId: {
    kind: 'text',
    format: RULE_ID,
    required: true,
    example: '17',
    explanation: 'The rule: one of the merchant, or a default one.',
  },
  multiply: {
    kind: 'whole_number',
    ...MULTIPLY,
    example: 5,
    explanation:
      'Multiplies the capacity and what comes back, or the limit, of every limit of the rule. Either this or limits is required.',
  },
  limits: {
    kind: 'list',
    of: {
      kind: 'object',
      fields: { name: { ...LIMIT.common.name, explanation: 'The limit of the rule.' }, ...NUMBERS },
      explanation: 'Numbers in place of those of one limit.',
    },
    min: 1,
    max: RULE_FIELDS.limits.max,
    explanation: 'Replaces numbers of the named limits.',
  },
  until: {
    kind: 'text',
    format: MOMENT,
    required: true,
    example: '2100-01-01T00:00:00+01:00',
    explanation: 'When it ends, by itself: in the future, and at most a year away.',
  },
} as const satisfies Fields;
