import { ALGORITHM_NAMES } from './limit.js';
import {
  MOST_OVERRIDES_OF_RULE,
  MOST_PERIODS,
  MULTIPLY,
  scalingFields,
  type LimitBefore,
  type OtherNumbers,
  type OverrideNumbers,
  type OverridePeriod,
  type RuleOverrides,
} from './override.js';
import { RULE_FIELDS } from './rule.js';
import { MOST_GENERATIONS } from './stored-limit.js';
import { listAt, objectAt, UnreadableError, wholeAt } from './stored-value.js';

/** Overrides as they come back from a store, read as input from outside, as rules are: see stored-rule.ts. */

/** A merchant's own rules, and as many that it shares with others. */
const MOST_OVERRIDDEN_RULES = 2_000;
/** The year 2255, as for everything that is counted in microseconds. */
const LAST_MS = Math.floor(Number.MAX_SAFE_INTEGER / 1000);
const MOST_LIMITS = RULE_FIELDS.limits.max;
const NUMBERS = [...new Set(ALGORITHM_NAMES.flatMap(scalingFields))];

/** Throws UnreadableError. */
export function storedOverrides(value: unknown, at = 'overrides'): RuleOverrides[] {
  const overrides = listAt(value, at, 0, MOST_OVERRIDDEN_RULES).map((each, i) => ofRule(each, `${at}[${i}]`));
  if (new Set(overrides.map(({ ruleId }) => ruleId)).size < overrides.length) throw new UnreadableError(`${at}: two are of the same rule`);
  return overrides;
}

function ofRule(value: unknown, at: string): RuleOverrides {
  const { ruleId, periods } = objectAt(value, at);
  const read = listAt(periods, `${at}.periods`, 1, MOST_PERIODS + 1).map((each, i) => periodAt(each, `${at}.periods[${i}]`));
  read.forEach(({ number }, i) => {
    if (i > 0 && number <= read[i - 1]!.number) throw new UnreadableError(`${at}.periods[${i}].number: must be larger than the one before`);
  });
  return { ruleId: idAt(ruleId, `${at}.ruleId`), periods: read };
}

function periodAt(value: unknown, at: string): OverridePeriod {
  const fields = objectAt(value, at);
  const { deleted } = fields;
  if (typeof deleted !== 'boolean') throw new UnreadableError(`${at}.deleted: must be true or false`);
  return {
    id: idAt(fields['id'], `${at}.id`),
    number: wholeAt(fields['number'], `${at}.number`, 1, MOST_OVERRIDES_OF_RULE),
    fromMs: wholeAt(fields['fromMs'], `${at}.fromMs`, 0, LAST_MS),
    untilMs: wholeAt(fields['untilMs'], `${at}.untilMs`, 0, LAST_MS),
    deleted,
    before: listAt(fields['before'], `${at}.before`, 0, MOST_LIMITS).map((each, i) => beforeAt(each, `${at}.before[${i}]`)),
    ...numbersAt(fields, at),
  };
}

function numbersAt({ multiply, limits }: Readonly<Record<string, unknown>>, at: string): OverrideNumbers {
  if (multiply !== undefined && multiply !== null) return { multiply: wholeAt(multiply, `${at}.multiply`, MULTIPLY.min, MULTIPLY.max) };
  return { limits: listAt(limits, `${at}.limits`, 1, MOST_LIMITS).map((each, i) => otherAt(each, `${at}.limits[${i}]`)) };
}

function otherAt(value: unknown, at: string): OtherNumbers {
  const { limitId, numbers } = objectAt(value, at);
  const given = objectAt(numbers, `${at}.numbers`);
  const known = NUMBERS.filter((field) => given[field] !== undefined);
  return {
    limitId: wholeAt(limitId, `${at}.limitId`, 0, Number.MAX_SAFE_INTEGER),
    // Whether they make a limit is asked of the limit, which may be edited at any time.
    numbers: Object.fromEntries(known.map((field) => [field, wholeAt(given[field], `${at}.numbers.${field}`, 0, Number.MAX_SAFE_INTEGER)])),
  };
}

function beforeAt(value: unknown, at: string): LimitBefore {
  const { limitId, generation, override } = objectAt(value, at);
  return {
    limitId: wholeAt(limitId, `${at}.limitId`, 0, Number.MAX_SAFE_INTEGER),
    generation: wholeAt(generation, `${at}.generation`, 0, MOST_GENERATIONS),
    override: wholeAt(override, `${at}.override`, 0, MOST_OVERRIDES_OF_RULE),
  };
}

function idAt(value: unknown, at: string): string {
  if (typeof value === 'string' && /^[1-9]\d{0,18}$/.test(value)) return value;
  throw new UnreadableError(`${at}: must be a decimal number as text`);
}
