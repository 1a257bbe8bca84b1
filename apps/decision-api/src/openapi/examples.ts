/** What stands in the document. Tests check requests by the tables, answers by the schemas, and both against a running decision API. */
const BURST = { rule: '1', name: 'burst', allowed: true, limit: 10, remaining: 9, retryAfterMs: 0, resetAfterMs: 200 } as const;

export const CHECK = { merchant: 'acme', method: 'POST', path: '/transactions', ip: '192.0.2.7', wantClaim: true };

export const DECISION = {
  allowed: true,
  reason: 'allowed',
  status: 200,
  rule: '1',
  ruleName: 'transactions',
  limit: 10,
  remaining: 9,
  retryAfterMs: 0,
  resetAfterMs: 200,
  waitMs: 0,
  limits: [BURST],
  headers: { 'RateLimit-Policy': '"burst";q=10;w=2', RateLimit: '"burst";r=9;t=1' },
  claim: 'qk3b2VJ0T1mT0c3nYb1d9A',
};

const { claim, ...WITHOUT_CLAIM } = DECISION;

export const BATCH = { mode: 'all', checks: [{ merchant: 'acme', method: 'POST', path: '/transactions' }] };
export const BATCH_DECISION = { mode: 'all', allowed: true, decisions: [WITHOUT_CLAIM] };
export const WAIT = { ...CHECK, maxWaitMs: 2_000 };
export const REFUND = { claim };
export const REFUNDED = { outcome: 'refunded', given: 1, edited: 0 };
export const SETTLEMENT = { claim, response: { status: 402 } };
export const SETTLED = { outcome: 'settled', given: 0, edited: 0 };

export const REFUSAL = {
  type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
  code: 'quota.exceeded',
  title: 'Quota exceeded',
  status: 429,
  detail: 'over the limit "burst"',
};

export const RATE_LIMIT = { domain: 'acme', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };
export const RATE_LIMIT_ANSWER = {
  overallCode: 'OK',
  statuses: [
    {
      code: 'OK',
      currentLimit: { name: 'burst', requestsPerUnit: 10, unit: 'UNKNOWN' },
      limitRemaining: 9,
      durationUntilReset: '0.200s',
    },
  ],
};
export const RATE_LIMIT_REFUSAL = {
  overallCode: 'OVER_LIMIT',
  statuses: [
    {
      code: 'OVER_LIMIT',
      currentLimit: { name: 'burst', requestsPerUnit: 10, unit: 'UNKNOWN' },
      limitRemaining: 0,
      durationUntilReset: '2.000s',
    },
  ],
};
