/** What anybody may write as the body of a call: it is understood, or answered with what is wrong, and never an error of ours. */
import * as fc from 'fast-check';
import { mutated, runs } from '#limiter/testing';
import { ProblemError } from '#platform';
import { CHECK_FIELDS, WAIT_FIELDS } from '../decisions/check-fields.js';
import { descriptorOf } from '../decisions/check-request.js';
import { BATCH_FIELDS } from './batch-call.js';
import { answerFacts, REFUND_FIELDS, SETTLEMENT_FIELDS } from './claim-calls.js';
import { isPlainlyValid } from './plainly-valid.js';
import { faultsOf, validObject } from './valid-body.js';

const WHOLE = {
  merchant: 'acme',
  user: 'u-17',
  apiKey: { id: '3', labels: { team: 'web' } },
  ip: '192.0.2.7',
  country: 'DE',
  method: 'POST',
  path: '/transactions/17?x=1',
  host: 'api.example.com',
  headers: { 'X-Channel': 'web', Cookie: ['a=1', 'b=2'] },
  jwt: { scope: 'payments', nested: { a: [1] } },
  body: { amount: 12.5, items: [{ id: 1 }] },
  cost: 3,
  wantClaim: true,
};
const CLAIM = 'qk3b2VJ0T1mT0c3nYb1d9A';

/** The problem, or nothing if it is understood. */
function faultsIn(
  value: unknown,
  fields: Parameters<typeof validObject>[1],
  use: (valid: never) => void = () => {},
): ProblemError | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  try {
    use(validObject(value as Record<string, unknown>, fields) as never);
    return undefined;
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    return error;
  }
}

/** Asks for everything that a rule could look at. */
function look(request: never): void {
  const { more, ip, method, target } = descriptorOf(request, '/', true);
  expect([ip, method, target].every((text) => typeof text === 'string')).toBe(true);
  for (const name of ['x-channel', 'cookie', '__proto__', 'constructor']) expect(Array.isArray(more!.headerValues(name))).toBe(true);
  more!.body!.valueOf('amount');
  expect(typeof (more!.hostName ?? '')).toBe('string');
}

test('a whole check is understood', () => {
  expect(faultsIn(WHOLE, CHECK_FIELDS, look)).toBeUndefined();
  expect(faultsIn({ ...WHOLE, maxWaitMs: 10 }, WAIT_FIELDS, look)).toBeUndefined();
  expect(faultsIn({ mode: 'all', checks: [WHOLE] }, BATCH_FIELDS)).toBeUndefined();
});

test.each([
  ['a check', WHOLE, CHECK_FIELDS, look],
  ['a call that waits', { ...WHOLE, maxWaitMs: 10 }, WAIT_FIELDS, look],
  ['a batch', { mode: 'each', checks: [WHOLE, { merchant: 'b' }] }, BATCH_FIELDS, undefined],
  ['a refund', { claim: CLAIM }, REFUND_FIELDS, undefined],
  [
    'a settlement',
    { claim: CLAIM, response: { status: 402, headers: { a: ['b'] }, body: { code: 'declined' } } },
    SETTLEMENT_FIELDS,
    ({ response }: { response?: Parameters<typeof answerFacts>[0] }) => response && answerFacts(response).head!.headerValues('a'),
  ],
] as const)('%s that somebody has damaged is understood, or told what is wrong', (_what, whole, fields, use) => {
  fc.assert(
    fc.property(mutated(whole), (damaged) => {
      const problem = faultsIn(damaged, fields, use as never);
      if (problem === undefined) return;
      expect(problem.status).toBe(400);
      expect(problem.errors!.length).toBeGreaterThan(0);
      expect(JSON.stringify(problem.errors).length).toBeLessThan(200_000);
    }),
    runs(100),
  );
});

test('what needs no longer look has no faults by the longer look', () => {
  const { apiKey: _, ...plain } = WHOLE;
  const tables = [
    [plain, CHECK_FIELDS],
    [{ ...plain, maxWaitMs: 10 }, WAIT_FIELDS],
    [{ claim: CLAIM }, REFUND_FIELDS],
  ] as const;
  for (const [whole, fields] of tables) {
    expect(isPlainlyValid(whole, fields)).toBe(true);
    fc.assert(
      fc.property(mutated(whole), (damaged) => {
        if (typeof damaged !== 'object' || damaged === null || Array.isArray(damaged)) return;
        const object = damaged as Record<string, unknown>;
        if (isPlainlyValid(object, fields)) expect(faultsOf(object, fields, '')).toEqual([]);
      }),
      runs(100),
    );
  }
  for (const odd of [{}, { merchant: undefined }, { ...plain, ['__proto__']: 1 }, JSON.parse('{"merchant":"a","__proto__":{}}')])
    expect(isPlainlyValid(odd as Record<string, unknown>, CHECK_FIELDS)).toBe(false);
});

test.each([
  [{ ...WHOLE, merchant: undefined }, '', 'check.merchant.missing'],
  [{ merchnt: 'x', merchant: 'a' }, '/merchnt', 'check.unknown_field'],
  [{ merchant: 'a', apiKey: { id: 'tgk_secret' } }, '/apiKey/id', 'check.apiKey.id.malformed'],
  [{ merchant: 'a', method: 'post' }, '/method', 'check.method.malformed'],
  [{ merchant: 'a', path: '/ä' }, '/path', 'check.path.malformed'],
  [{ merchant: 'a', path: 'x' }, '/path', 'check.path.malformed'],
  [{ merchant: 'a', headers: { 'bad name': 'x' } }, '/headers', 'check.headers.malformed'],
  [{ merchant: 'a', headers: [] }, '/headers', 'check.headers.wrong_type'],
  [{ merchant: 'a', jwt: 'ey...' }, '/jwt', 'check.jwt.wrong_type'],
  [{ merchant: 'a', cost: 1_000_000_001 }, '/cost', 'check.cost.out_of_range'],
  [{ merchant: 'a', wantClaim: 'yes' }, '/wantClaim', 'check.wantClaim.wrong_type'],
])('%j is told where it is wrong', (body, pointer, code) => {
  const { errors } = faultsIn(body, CHECK_FIELDS)!;
  expect(errors).toEqual([expect.objectContaining({ code, ...(pointer !== '' && { pointer }) })]);
});

test('a fault in a batch is found by its place', () => {
  const { errors } = faultsIn({ mode: 'all', checks: [{ merchant: 'a' }, { merchant: 'a', ip: 'x' }, 7] }, BATCH_FIELDS)!;
  expect(errors).toEqual([expect.objectContaining({ pointer: '/checks/1/ip' }), expect.objectContaining({ pointer: '/checks/2' })]);
  for (const count of [0, 101])
    expect(faultsIn({ mode: 'all', checks: Array(count).fill({ merchant: 'a' }) }, BATCH_FIELDS)!.errors).toEqual([
      expect.objectContaining({ pointer: '/checks', code: 'check.checks.wrong_length' }),
    ]);
});

test('of thousands of unknown fields one is told, because for each a similar name would be sought', () => {
  const crowd = Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`k${i}`, 1]));
  for (const [body, fields, pointer] of [
    [{ ...crowd, merchant: 'a' }, CHECK_FIELDS, ''],
    [{ merchant: 'a', apiKey: { ...crowd, id: '3' } }, CHECK_FIELDS, '/apiKey'],
    [{ claim: CLAIM, response: { ...crowd, status: 200 } }, SETTLEMENT_FIELDS, '/response'],
    [{ mode: 'all', checks: [{ merchant: 'a' }, { ...crowd, merchant: 'a' }] }, BATCH_FIELDS, '/checks/1'],
  ] as const)
    expect(faultsIn(body, fields)!.errors).toEqual([
      expect.objectContaining({
        pointer,
        code: `check${pointer.replace(/\/checks\/\d+/, '').replace('/', '.')}.unknown_field`,
        detail: 'has 30000 fields that are not known here',
      }),
    ]);
});
