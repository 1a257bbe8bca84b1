import type { Outcome } from '#enforcement';
import type { JsonSchema } from '#limiter';

/** By name, so that the compiler knows when one is missing. */
const REASONS: Readonly<Record<Outcome['reason'], string>> = {
  allowed: 'it passes',
  no_matching_rule: 'it passes, because no rule is for it',
  rerouted: 'it is over a limit, and a rule sends it to another route, which nobody here knows',
  over_limit: 'it is over a limit',
  blocked: 'a bucket is blocked, by an operator or as a penalty',
  cost_exceeds_capacity: 'it costs more than a limit ever allows at once',
  store_unavailable: 'Redis is away, and a rule refuses then',
  unreadable_body: 'a rule looks at a body that cannot be read',
  invalid_cost: 'a rule goes by a cost that is not usable',
  unknown_merchant: 'there is no such merchant',
  too_many_unknown: 'many unknown merchants were asked for lately, and this one is not known',
  rules_unavailable: 'the rules cannot be read',
};

const object = (properties: Readonly<Record<string, JsonSchema>>, required: readonly string[], description?: string): JsonSchema => ({
  type: 'object',
  ...(description !== undefined && { description }),
  properties,
  required,
  additionalProperties: false,
});

const TRUTH = (description: string): JsonSchema => ({ type: 'boolean', description });
const TEXT = (description: string): JsonSchema => ({ type: 'string', description });
const COUNT = (description: string): JsonSchema => ({ type: 'integer', minimum: 0, description });
const MILLISECONDS = (description: string): JsonSchema => ({ type: 'number', minimum: 0, description: `${description}, in milliseconds.` });

/** @param words that stand instead of a time */
const retryAfter = (...words: readonly string[]): JsonSchema => ({
  description:
    'When the same request would pass, in milliseconds; never, if it costs more than a limit ever allows at once; unknown, while Redis or the rules are away.',
  anyOf: [
    { type: 'number', minimum: 0 },
    { type: 'string', enum: words },
  ],
});

const LIMIT = object(
  {
    rule: TEXT('The id of its rule.'),
    name: TEXT('Its name.'),
    allowed: TRUTH('Whether it lets the request pass.'),
    limit: COUNT('What it allows at once, or in its window.'),
    remaining: COUNT('What is left of that.'),
    retryAfterMs: retryAfter('never'),
    resetAfterMs: MILLISECONDS('Until it is whole again'),
  },
  ['rule', 'name', 'allowed', 'limit', 'remaining', 'retryAfterMs', 'resetAfterMs'],
  'What one limit says.',
);

const DECISION = object(
  {
    allowed: TRUTH('Whether the request passes.'),
    reason: {
      type: 'string',
      enum: Object.keys(REASONS),
      description: `Why: ${Object.entries(REASONS)
        .map(([reason, means]) => `${reason}, ${means}`)
        .join('; ')}.`,
    },
    status: { type: 'integer', enum: [200, 400, 403, 429, 503], description: 'With which a gateway would answer.' },
    rule: TEXT(
      'The rule of the limit that says most about what comes next: one that refuses, or the one with the least left. Absent where no limit was asked.',
    ),
    ruleName: TEXT('Its name.'),
    limit: COUNT('What that limit allows at once, or in its window.'),
    remaining: COUNT('What is left of that.'),
    retryAfterMs: retryAfter('never', 'unknown'),
    resetAfterMs: MILLISECONDS('Until that limit is whole again'),
    waitMs: MILLISECONDS('How long to hold the request before it goes on: it waits its turn in a queue'),
    limits: { type: 'array', items: { $ref: '#/components/schemas/Limit' }, description: 'What each limit says.' },
    headers: { type: 'object', additionalProperties: { type: 'string' }, description: 'For the client, as a gateway would write them.' },
    claim: {
      type: 'string',
      pattern: '^[A-Za-z0-9_-]{22}$',
      description: 'By which what was taken can be refunded or settled. Absent if none was wanted, or nothing was taken.',
    },
    fault: object(
      { rule: TEXT('The rule.'), field: TEXT('What it goes by.'), detail: TEXT('What is wrong with it.') },
      ['rule', 'field', 'detail'],
      'What a rule cannot use.',
    ),
  },
  ['allowed', 'reason', 'status', 'retryAfterMs', 'waitMs', 'limits', 'headers'],
);

const BATCH = object(
  {
    mode: { type: 'string', enum: ['all', 'each'], description: 'As it was asked.' },
    allowed: TRUTH('Whether all pass.'),
    decisions: { type: 'array', items: { $ref: '#/components/schemas/Decision' }, description: 'In the order of the checks.' },
  },
  ['mode', 'allowed', 'decisions'],
);

const GIVEN = {
  given: COUNT('Buckets that got something back.'),
  edited: COUNT('Buckets whose rule was edited since: what was taken by the former numbers stays taken.'),
};

const CLAIM_OUTCOME: JsonSchema = {
  oneOf: [
    object(
      { outcome: { type: 'string', enum: ['refunded', 'settled'] }, ...GIVEN },
      ['outcome', 'given', 'edited'],
      'This call has ended the claim.',
    ),
    object(
      { outcome: { const: 'ended_before' }, as: { type: 'string', enum: ['refunded', 'settled'] } },
      ['outcome', 'as'],
      'It had ended: a call whose answer was lost can be made again.',
    ),
    object({ outcome: { const: 'not_found' } }, ['outcome'], 'There is no such claim, or its time is over: what was taken stays taken.'),
  ],
};

const RATE_LIMIT_ANSWER = object(
  {
    overallCode: { type: 'string', enum: ['OK', 'OVER_LIMIT'], description: 'OVER_LIMIT if one of the descriptors is.' },
    statuses: {
      type: 'array',
      description: 'In the order of the descriptors.',
      items: object(
        {
          code: { type: 'string', enum: ['OK', 'OVER_LIMIT'] },
          currentLimit: object({ name: { type: 'string' }, requestsPerUnit: { type: 'integer' }, unit: { type: 'string' } }, [
            'name',
            'requestsPerUnit',
            'unit',
          ]),
          limitRemaining: COUNT('What is left.'),
          durationUntilReset: { type: 'string', pattern: '^[0-9]+\\.[0-9]{3}s$', description: 'Until the limit is whole again.' },
        },
        ['code', 'limitRemaining'],
      ),
    },
  },
  ['overallCode', 'statuses'],
);

const PROBLEM: JsonSchema = {
  type: 'object',
  description: 'Problem details (RFC 9457). Some have more members.',
  properties: {
    type: TEXT('The kind of problem, an address that leads to a page about it.'),
    code: TEXT('What went wrong, for programs.'),
    title: TEXT('What the status says.'),
    status: { type: 'integer', minimum: 400, maximum: 599, description: 'The status.' },
    detail: TEXT('What went wrong, for people.'),
    requestId: TEXT('The id of the call, by which a receipt is found.'),
    errors: {
      type: 'array',
      description: 'Where the call is wrong.',
      items: object(
        { pointer: TEXT('Into the body.'), parameter: TEXT('Of the query.'), code: TEXT('For programs.'), detail: TEXT('For people.') },
        ['code', 'detail'],
      ),
    },
  },
  required: ['type', 'code', 'title', 'status', 'detail'],
};

export const ANSWER_SCHEMAS = {
  Decision: DECISION,
  Limit: LIMIT,
  BatchDecision: BATCH,
  ClaimOutcome: CLAIM_OUTCOME,
  RateLimitAnswer: RATE_LIMIT_ANSWER,
  Problem: PROBLEM,
} as const;
