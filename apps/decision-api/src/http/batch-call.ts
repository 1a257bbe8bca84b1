import { type CustomField, type Fault, type Fields, isPlainObject, objectSchema } from '#limiter';
import type { CallerLimit } from '../callers/caller-limit.js';
import { CHECK_FIELDS } from '../decisions/check-fields.js';
import type { CheckRequest } from '../decisions/check-request.js';
import type { Decisions } from '../decisions/decisions.js';
import { jsonAnswer } from './answer.js';
import type { Route } from './call.js';
import { shownDecision } from './shown-decision.js';
import { demandKnown, faultsOf, validObject } from './valid-body.js';

const MOST_CHECKS = 100;
const MOST_BATCH_BYTES = 1024 * 1024;

const CHECKS_EXPECTED = `must be a list of 1 to ${MOST_CHECKS} checks`;

const CHECKS: CustomField<readonly Readonly<Record<string, unknown>>[]> = {
  kind: 'custom',
  check: (value, { pointer, code }): readonly Fault[] => {
    if (!Array.isArray(value)) return [{ pointer, code: `${code}.wrong_type`, detail: CHECKS_EXPECTED }];
    if (value.length < 1 || value.length > MOST_CHECKS) return [{ pointer, code: `${code}.wrong_length`, detail: CHECKS_EXPECTED }];
    return value.flatMap((each: unknown, i) =>
      isPlainObject(each)
        ? faultsOf(each, CHECK_FIELDS, `${pointer}/${i}`)
        : [{ pointer: `${pointer}/${i}`, code: `${code}.wrong_type`, detail: 'must be an object' }],
    );
  },
  schema: { type: 'array', minItems: 1, maxItems: MOST_CHECKS, items: objectSchema(CHECK_FIELDS) },
  explanation: 'The requests, each as POST /v1/check takes it.',
};

export const BATCH_FIELDS = {
  mode: {
    kind: 'choice',
    values: ['all', 'each'],
    required: true,
    example: 'all',
    explanation: 'Whether all pass or none (all), or each is decided about for itself (each).',
  },
  checks: { ...CHECKS, required: true },
} as const satisfies Fields;

/** POST /v1/check/batch: up to 100 checks, all or nothing, or each for itself. */
export function batchCall(decisions: Decisions, limit: CallerLimit): Route {
  return {
    method: 'POST',
    handle: async (call) => {
      demandKnown(call.query, []);
      const { mode, checks } = validObject(await call.body(MOST_BATCH_BYTES), BATCH_FIELDS);
      limit.demand(call.caller, checks.length);
      const made = await decisions.checkSeveral(checks as unknown as readonly CheckRequest[], mode, call.requestId);
      return jsonAnswer({ mode, allowed: made.every(({ allowed }) => allowed), decisions: made.map(shownDecision) });
    },
  };
}
