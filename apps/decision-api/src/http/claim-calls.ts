import { type ClaimOutcome, isClaimName } from '#enforcement';
import { type AnswerFacts, bodyOfText, type Fields, MOST_BODY_BYTES, type SpecOf, textFormat, unreadableBody } from '#limiter';
import type { CallerLimit } from '../callers/caller-limit.js';
import { CHECK_FIELDS } from '../decisions/check-fields.js';
import type { Decisions } from '../decisions/decisions.js';
import { jsonAnswer } from './answer.js';
import type { Route } from './call.js';
import { MOST_CHECK_BYTES } from './check-call.js';
import { demandKnown, validObject } from './valid-body.js';

const CLAIM = {
  kind: 'text',
  format: textFormat('must be the claim of a decision: 22 letters, digits, - or _', isClaimName, { pattern: '^[A-Za-z0-9_-]{22}$' }),
  required: true,
  example: 'qk3b2VJ0T1mT0c3nYb1d9A',
  explanation: 'The claim of a decision.',
} as const;

export const REFUND_FIELDS = { claim: CLAIM } as const satisfies Fields;

export const SETTLEMENT_FIELDS = {
  claim: CLAIM,
  response: {
    kind: 'object',
    explanation:
      'What is known of the answer to the request, for rules that charge on response. Without it what may have been charged stays taken.',
    fields: {
      status: { kind: 'whole_number', min: 100, max: 999, required: true, example: 402, explanation: 'Its status.' },
      headers: { ...CHECK_FIELDS.headers, explanation: 'Its headers.' },
      body: { ...CHECK_FIELDS.body, explanation: 'Its body, if rules look at it: any JSON, of which 64 KiB are looked at.' },
    },
  },
} as const satisfies Fields;

type SentAnswer = NonNullable<SpecOf<typeof SETTLEMENT_FIELDS>['response']>;

const MOST_REFUND_BYTES = 4_096;

/** POST /v1/refund: what a decision took is given back, as if the request had never come. */
export function refundCall(decisions: Decisions, limit: CallerLimit): Route {
  return {
    method: 'POST',
    handle: async (call) => {
      demandKnown(call.query, []);
      const { claim } = validObject(await call.body(MOST_REFUND_BYTES), REFUND_FIELDS);
      limit.demand(call.caller, 1);
      return jsonAnswer(shownOutcome(await decisions.refund(claim)));
    },
  };
}

/** POST /v1/settle: the request is over, and this is what is known of its answer. */
export function settleCall(decisions: Decisions, limit: CallerLimit): Route {
  return {
    method: 'POST',
    handle: async (call) => {
      demandKnown(call.query, []);
      const { claim, response } = validObject(await call.body(MOST_CHECK_BYTES), SETTLEMENT_FIELDS);
      limit.demand(call.caller, 1);
      return jsonAnswer(shownOutcome(await decisions.settle(claim, response && answerFacts(response))));
    },
  };
}

function shownOutcome(outcome: ClaimOutcome): Record<string, unknown> {
  return 'given' in outcome ? { outcome: outcome.outcome, given: outcome.given, edited: outcome.edited } : outcome;
}

export function answerFacts({ status, headers = {}, body }: SentAnswer): AnswerFacts {
  const headerValues = (name: string): readonly string[] =>
    Object.entries(headers).flatMap(([each, value]) => (each.toLowerCase() === name ? value : []));
  return { head: { status, headerValues }, ...(body !== undefined && { body: bodyFacts(body) }) };
}

function bodyFacts(body: unknown) {
  const text = JSON.stringify(body);
  return Buffer.byteLength(text) > MOST_BODY_BYTES ? unreadableBody('too_large') : bodyOfText(text);
}
