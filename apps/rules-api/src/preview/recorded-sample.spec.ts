import { completed, type Rule, RULE_FIELDS, startLimits } from '#limiter';
import type { DecisionReceipt, UsageStep } from '../buckets/live-reports.js';
import { recordedSample } from './recorded-sample.js';

const NOW_MS = Date.parse('2026-11-22T10:00:00Z');
const LIMIT = { name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 1, refillIntervalMs: 1_000 };

function rule(changes: object = {}): Rule {
  const spec = completed({ name: 'draft', limits: [LIMIT], ...changes }, RULE_FIELDS) as unknown as Rule;
  return { ...spec, id: '7', limits: startLimits(spec.limits, 0) };
}

function receipt(atMs: number, changes: Partial<DecisionReceipt> = {}, key: Record<string, string> = {}): DecisionReceipt {
  return {
    requestId: 'r',
    atMs: NOW_MS + atMs,
    merchantId: 'acme',
    allowed: false,
    method: 'GET',
    path: '/a',
    pathIsCut: false,
    ignorePathCase: false,
    reason: 'over_limit',
    source: 'store',
    retryAfterMs: null,
    limits: [
      {
        ruleId: '7',
        rule: 'rule 7',
        limit: 'burst',
        generation: 0,
        allowed: false,
        capacity: 10,
        cost: 1,
        remainingBefore: 0,
        remainingAfter: 0,
        retryAfterMs: 1,
        key: { merchant: 'acme', ...key },
      },
    ],
    sample: { oneIn: 1, client: { ip: 'hmac:a' }, hashedWith: 'k1' },
    ...changes,
  };
}
const passed = (atMs: number, oneIn: number) =>
  receipt(atMs, { allowed: true, sample: { oneIn, client: { ip: 'hmac:a' }, hashedWith: 'k1' } });
const minute = (atMs: number, counts: Partial<UsageStep>): UsageStep => {
  return { atMs: NOW_MS + atMs, ruleId: '7', passed: 0, refused: 0, shadowRefused: 0, leastPercent: 100, ...counts };
};

/** @param receipts the oldest first, three on a page */
function sampled(receipts: DecisionReceipt[], rules: Rule[] = [rule()], { usage = [] as UsageStep[], mostRequests = 1_000 } = {}) {
  const back = [...receipts].reverse();
  const records = {
    nowMs: () => Promise.resolve(NOW_MS),
    receiptsBefore: (cursor: string | undefined) => {
      const from = Number(cursor ?? 0);
      return Promise.resolve({ items: back.slice(from, from + 3), cursor: from + 3 < back.length ? String(from + 3) : undefined });
    },
    usageOf: () => Promise.resolve(new Map([['acme', usage]])),
  };
  return recordedSample(records, 'acme', rules, { mostRequests });
}
const times = ({ rows }: Awaited<ReturnType<typeof sampled>>) => rows.map(({ atMs }) => atMs - NOW_MS);
const refusal = async (sample: Promise<unknown>) => {
  const problem = (await sample.catch((error: unknown) => error)) as { code: string; errors: { code: string; detail: string }[] };
  return problem.errors[0]!;
};

describe('a sample of what gateways recorded', () => {
  it('has each refused request at its own time, whatever the order in which they were written', async () => {
    const sample = await sampled([receipt(-2_000), receipt(-5_000), receipt(-1_000), receipt(-500)]);
    expect([times(sample), sample.weight]).toEqual([[-5_000, -2_000, -1_000, -500], { passed: 0, refused: 1 }]);
  });

  it('has as many requests for each that passed as it stands for, between its neighbours', async () => {
    const sample = await sampled([passed(-60_000, 4), passed(-20_000, 4), receipt(-10_000)]);
    expect(times(sample)).toEqual([-83_750, -71_250, -58_750, -46_250, -35_000, -25_000, -15_000, -10_000, -5_000]);
    expect(sample.weight).toEqual({ passed: 4, refused: 1 });
  });

  it('has none of them in a minute in which nothing was counted', async () => {
    const usage = [minute(-3_600_000, { passed: 90 }), minute(-60_000, { passed: 10 })];
    const sample = await sampled([passed(-3_590_000, 50), passed(-30_000, 50)], [rule()], { usage });
    const inMinutes = times(sample).map((at) => Math.floor(at / 60_000));
    expect(new Set(inMinutes)).toEqual(new Set([-60, -1]));
    expect(sample.rows).toHaveLength(100);
  });

  it('weighs refusals where more were counted than there was room to record, and only there', async () => {
    const usage = [minute(-3_600_000, { refused: 40 }), minute(-60_000, { refused: 5 })];
    const flood = Array.from({ length: 10 }, (_, i) => receipt(-3_590_000 + i * 1_000));
    const quiet = Array.from({ length: 4 }, (_, i) => receipt(-50_000 + i));
    const sample = await sampled([...flood, ...quiet], [rule()], { usage });
    expect(times(sample).filter((at) => at < -3_000_000)).toHaveLength(40);
    expect(times(sample).slice(-4)).toEqual([-50_000, -49_999, -49_998, -49_997]);
  });

  it('begins where there is no room for more, and where an older version has written', async () => {
    expect(times(await sampled([passed(-3_000, 700), passed(-2_000, 700), receipt(-1_000)])).length).toBe(701);
    expect(times(await sampled([receipt(-3_000), receipt(-2_000, { sample: undefined }), receipt(-1_000)]))).toEqual([-1_000]);
  });

  it('leaves out what is of no time of the last day, and paths that were cut', async () => {
    const sample = await sampled([receipt(9e12), receipt(-90_000_000), receipt(-2_000, { pathIsCut: true }), receipt(-1_000)]);
    expect([times(sample), sample.leftOut]).toEqual([[-1_000], 1]);
  });

  it('tells clients and networks apart by their hashes', async () => {
    const client = (ip: string, prefix: string) => ({ oneIn: 1, client: { ip, 'ip.prefix': prefix, user: 'hmac:u' }, hashedWith: 'k1' });
    const { rows } = await sampled([
      receipt(-3, { sample: client('hmac:a', 'hmac:p') }),
      receipt(-2, { sample: client('hmac:b', 'hmac:p') }),
      receipt(-1, { sample: client('hmac:c', 'hmac:q') }, { 'header.X-Device': 'hmac:d', host: 'hmac:h', 'cookie.c': '' }),
    ]);
    const addresses = rows.map(({ descriptor }) => descriptor!.ip);
    expect(new Set(addresses).size).toBe(3);
    const networks = addresses.map((address) => address.split(':').slice(0, 4).join(':'));
    expect([networks[0] === networks[1], networks[0] === networks[2]]).toEqual([true, false]);
    const { user, more } = rows[2]!.descriptor!;
    expect([user, more!.headerValues('x-device'), more!.headerValues('cookie'), more!.hostName]).toEqual([
      'hmac-u',
      ['hmac-d'],
      [],
      'hmac-h',
    ]);
  });
});

describe('a sample of what gateways recorded is refused', () => {
  it('if there is none', async () => {
    expect(await refusal(sampled([]))).toMatchObject({ code: 'preview.sample.not_recorded', pointer: '/sample' });
    expect((await refusal(sampled([receipt(-1, { sample: undefined })]))).code).toBe('preview.sample.not_recorded');
  });

  it('if each request stands for more than are replayed', async () => {
    expect((await refusal(sampled([passed(-1, 1_001)]))).code).toBe('preview.sample.too_thin');
  });

  it.each([
    ['country', { match: { all: [{ any: [{ field: 'method', equals: 'GET' }, { not: { field: 'country', in: ['DE'] } }] }] } }],
    ['ip', { match: { all: [{ field: 'ip', inRanges: ['10.0.0.0/8'] }] } }],
    ['header.x-device', { key: ['merchant', 'header.X-Device'] }],
    ['body.amount', { cost: { field: 'body.amount', max: 9 } }],
    ['response.status', { charge: { on: 'response', when: { field: 'response.status', from: 400, to: 499 } } }],
  ])('if a rule that concerns one of them looks at %s, which is not recorded', async (field, changes) => {
    const { code, detail } = await refusal(sampled([receipt(-1)], [rule(changes)]));
    expect([code, detail]).toEqual(['preview.sample.field_not_recorded', expect.stringContaining(` looks at ${field},`)]);
    const { match = {} } = changes as { match?: object };
    for (const elsewhere of [{ paths: ['/b/**'] }, { methods: ['POST'] }])
      await expect(sampled([receipt(-1)], [rule({ ...changes, match: { ...match, ...elsewhere } })])).resolves.toBeDefined();
    await expect(sampled([receipt(-1)], [rule({ ...changes, enabled: false })])).resolves.toBeDefined();
  });

  it('only if not all of them have it', async () => {
    const all = [receipt(-2, {}, { 'header.X-Device': 'hmac:d' }), receipt(-1, {}, { 'header.x-device': '' })];
    await expect(sampled(all, [rule({ key: ['header.x-Device', 'path', 'user'] })])).resolves.toMatchObject({ leftOut: 0 });
    expect((await refusal(sampled([...all, receipt(0)], [rule({ key: ['header.x-device'] })]))).code).toBe(
      'preview.sample.field_not_recorded',
    );
  });

  it('if gateways that hash with different keys stand beside each other and rules compare hashes', async () => {
    const by = (atMs: number, hashedWith: string) => receipt(atMs, { sample: { oneIn: 1, client: { ip: 'hmac:a' }, hashedWith } });
    const mixed = [by(-4, 'k1'), by(-3, 'k2'), by(-2, 'k1'), by(-1, 'k1')];
    expect((await refusal(sampled(mixed, [rule({ key: ['ip'] })]))).code).toBe('preview.sample.hashes_differ');
    expect(times(await sampled(mixed))).toHaveLength(4);
    // After a restart there is a new key: the sample begins with it.
    expect(times(await sampled(mixed.slice(1), [rule({ key: ['ip'] })]))).toEqual([-2, -1]);
  });
});
