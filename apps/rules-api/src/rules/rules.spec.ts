import { LAYERS, MODES, STORE_FAILURE_POLICIES } from '#limiter';
import { type RuleEntity } from '#rules-db';
import { ValidationPipe } from '../http/validation.pipe.js';
import { RuleDto, ruleSpec, ruleView } from './rule.dto.js';

const LIMIT = { name: 'burst', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refillIntervalMs: 1_000 };
const SPEC = {
  name: 'card payments',
  layer: 'merchant',
  priority: 100,
  enabled: true,
  mode: 'enforce',
  match: { methods: [], paths: [] },
  key: ['merchant'],
  limits: [{ ...LIMIT, refill: 'greedy' }],
  cost: 1,
  onStoreFailure: 'local',
};

const pipe = new ValidationPipe();
const read = (body: object) => ruleSpec(pipe.transform(body, { type: 'body', metatype: RuleDto }) as RuleDto);

describe('RuleDto', () => {
  it('becomes a spec with every default and no field that is undefined', () => {
    const spec = read({ name: 'card payments', limits: [LIMIT] });
    expect(spec).toStrictEqual(SPEC);
    expect(Object.keys(spec.limits[0] ?? {})).not.toContain('initialTokens');
  });

  it('does not share its defaults between requests', () => {
    const first = read({ name: 'a', limits: [LIMIT] });
    (first.match.methods as string[]).push('GET');
    (first.key as string[]).push('ip');
    expect(read({ name: 'b', limits: [LIMIT] })).toMatchObject({ match: { methods: [] }, key: ['merchant'] });
  });

  it.each([
    ...LAYERS.map((layer) => ({ layer })),
    ...MODES.map((mode) => ({ mode })),
    ...STORE_FAILURE_POLICIES.map((onStoreFailure) => ({ onStoreFailure })),
    { key: [] },
    { key: ['merchant', 'ip', 'method'] },
    { priority: 0 },
    { match: { methods: ['GET', 'M-SEARCH'], paths: ['/', '/a/*', '/a/**', '/ü'] } },
    { limits: [{ ...LIMIT, refill: 'interval', initialTokens: 0 }] },
  ])('takes %j', (fields) => expect(read({ name: 'a', limits: [LIMIT], ...fields })).toMatchObject(fields));
});

describe('ruleView', () => {
  it('shows what was written, and not what the limiter remembers', () => {
    const stored = {
      ...SPEC,
      id: '17',
      merchantId: 'acme',
      limits: [{ ...SPEC.limits[0], initialTokens: 3, id: 0, generation: 2, start: { atMs: 1, tokens: 3 }, previous: [] }],
      version: 4,
      createdAt: new Date(0),
      updatedAt: new Date(1_000),
    } as unknown as RuleEntity;
    expect(ruleView(stored)).toStrictEqual({
      ...SPEC,
      id: '17',
      limits: [{ ...SPEC.limits[0], initialTokens: 3 }],
      version: 4,
      createdAt: '1970-01-01T00:00:00.000Z',
      updatedAt: '1970-01-01T00:00:01.000Z',
    });
  });
});
