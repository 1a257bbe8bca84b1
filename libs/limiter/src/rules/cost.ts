import { FIELD_NAME } from '../conditions/condition-fields.js';
import { decimalOfNumber, type Decimal } from '../conditions/decimal.js';
import { type FieldScalar, isSeveral } from '../conditions/field-value.js';
import { decimalIn } from '../conditions/operators.js';
import { type AskedFields, requestField } from '../conditions/request-field.js';
import type { CustomField, Fields, WholeNumberField } from '../fields/field.js';
import { fault, isPlainObject, objectFaults, valueFaults } from '../fields/field-faults.js';
import { objectSchema } from '../fields/table-schema.js';

/** What a request takes from each limit of a rule: a number, or what a field of the request says. */
export type Cost = number | CostOfField;

const ROUNDINGS = ['up', 'down', 'half_up'] as const;

/** Tokens are the value of the field times the scale. */
export interface CostOfField {
  readonly field: string;
  readonly scale?: number;
  readonly round?: (typeof ROUNDINGS)[number];
  readonly min?: number;
  readonly max: number;
  readonly ifAbsent?: number;
  readonly ifInvalid?: 'refuse' | 'max';
}

const MOST_TOKENS = 1_000_000_000;

const NUMBER = {
  kind: 'whole_number',
  min: 1,
  max: MOST_TOKENS,
  unit: 'tokens',
  explanation: 'Tokens.',
} as const satisfies WholeNumberField;

/** A value that has more digits behind the point is no number that anybody meant. */
const MOST_PLACES = 64;

const SCALE: CustomField<number> = {
  kind: 'custom',
  check: (value, place) => {
    const expected = `must be a number above 0 and at most ${MOST_TOKENS}`;
    if (typeof value !== 'number' || Number.isNaN(value)) return [fault(place, 'wrong_type', expected, value)];
    return value >= 1e-9 && value <= MOST_TOKENS ? [] : [fault(place, 'out_of_range', expected, value)];
  },
  schema: { type: 'number', minimum: 1e-9, maximum: MOST_TOKENS },
  example: 100,
  explanation: 'Tokens for each unit of the field; 1 unless it is given.',
};

/** A bound that goes with others: it must not be above `max`. */
function within(explanation: string): CustomField<number> {
  return {
    kind: 'custom',
    check: (value, place, { max }) => {
      const faults = valueFaults(value, NUMBER, place);
      if (faults.length > 0 || typeof max !== 'number') return faults;
      return (value as number) <= max ? [] : [fault(place, 'out_of_range', `must be at most ${max}, the value of max`, value)];
    },
    schema: { type: 'integer', minimum: 1, maximum: MOST_TOKENS },
    example: 1,
    explanation,
  };
}

const COST_FIELDS = {
  field: { ...FIELD_NAME, required: true, example: 'body.amount', explanation: 'The field of the request that says what it costs.' },
  scale: SCALE,
  round: { kind: 'choice', values: ROUNDINGS, example: 'up', explanation: 'How a fraction of a token is rounded; up unless it is given.' },
  min: within('What a request costs at least; 1 unless it is given.'),
  max: { ...NUMBER, required: true, example: 100_000, explanation: 'What a request costs at most.' },
  ifAbsent: within('What a request costs that does not have the field; 1 unless it is given.'),
  ifInvalid: {
    kind: 'choice',
    values: ['refuse', 'max'],
    example: 'refuse',
    explanation:
      'What becomes of a request whose field is no number, negative, or beyond max: refuse answers 400, max lets it cost max. refuse unless it is given.',
  },
} as const satisfies Fields;

export const COST = {
  kind: 'custom',
  check: (value, place) => (isPlainObject(value) ? objectFaults(value, COST_FIELDS, place) : valueFaults(value, NUMBER, place)),
  schema: { anyOf: [{ type: 'integer', minimum: NUMBER.min, maximum: NUMBER.max }, objectSchema(COST_FIELDS)] },
  default: 1,
  explanation: 'What one request takes from each limit, in tokens: a number, or a field of the request that says so.',
} as const satisfies CustomField<Cost> as unknown as CustomField<Cost> & { readonly default: 1 };

/** What a request costs; undefined if its field says something that the rule refuses. */
export type Price = (request: AskedFields) => number | undefined;

export function priceOf({ field, scale = 1, round = 'up', min = 1, max, ifAbsent = 1, ifInvalid = 'refuse' }: CostOfField): Price {
  const read = requestField(field);
  const factor = decimalOfNumber(scale);
  const invalid = ifInvalid === 'max' ? max : undefined;
  const tokens = (value: FieldScalar): number | undefined => {
    const number = decimalIn(value);
    const whole = number === undefined ? undefined : product(number, factor, round);
    return whole === undefined || whole > max ? undefined : Math.max(min, whole);
  };
  return (request) => {
    const value = request.valueOf(read);
    if (value === undefined) return ifAbsent;
    if (!isSeveral(value)) return tokens(value) ?? invalid;
    // Which of several values an upstream goes by cannot be known here, so the dearest counts.
    const all = value.map(tokens);
    return all.length === 0 || all.includes(undefined) ? invalid : Math.max(...(all as number[]));
  };
}

/** The product of two decimals, none of them rounded, as a whole number; undefined if it is negative or out of all bounds. */
function product(a: Decimal, b: Decimal, round: (typeof ROUNDINGS)[number]): number | undefined {
  if (a.negative || a.whole.length > MOST_PLACES || a.fraction.length > MOST_PLACES) return undefined;
  const one = 10n ** BigInt(a.fraction.length + b.fraction.length);
  const exact = BigInt(a.whole + a.fraction) * BigInt(b.whole + b.fraction);
  const added = round === 'up' ? one - 1n : round === 'half_up' ? one / 2n : 0n;
  const whole = (exact + added) / one;
  return whole > BigInt(MOST_TOKENS) ? undefined : Number(whole);
}
