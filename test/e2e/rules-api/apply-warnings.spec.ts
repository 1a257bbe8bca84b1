import { ruleBody } from '../../support/factories/rules.js';
import { type Answer, type Api, emptyRulesApi } from './api.js';

interface Result {
  code?: string;
  changes?: unknown[];
  refusal?: { code: string };
  warnings?: { code: string; pointer: string; detail: string }[];
  moreWarnings?: number;
  errors?: unknown[];
}

type ResultAnswer = Omit<Answer, 'body'> & { body: Result };

let api: Api;
beforeAll(async () => {
  api = await emptyRulesApi();
});

const apply = async (document: object, query = ''): Promise<ResultAnswer> =>
  (await api.ask('POST', `/v1/apply${query}`, { version: 1, ...document })) as ResultAnswer;
const found = ({ body }: { body: Result }) => (body.warnings ?? []).map(({ code, pointer }) => [code, pointer]);
const rule = (name: string, changes: object = {}) => ruleBody({ name, ...changes });
const paths = (...some: string[]) => ({ match: { methods: [], paths: some } });
const merchant = (id: string, rules: object[], changes: object = {}) => ({ id, name: id, rules, ...changes });

/** A rule that is never asked in a merchant that is not the first of the file, and a limit in a default rule. */
const mistaken = {
  merchants: [
    merchant('zeta', [rule('fine', paths('/z')), rule('narrow', paths('/a/*')), rule('wide', { priority: 500 })]),
    merchant('acme', [rule('fine')]),
  ],
  defaultRules: [
    rule('all', { limits: [{ name: 'burst', algorithm: 'token_bucket', capacity: 2, refillTokens: 5, refillIntervalMs: 1_000 }] }),
  ],
};
const warnings = [
  ['rule.shadowed', '/merchants/0/rules/0/priority'],
  ['rule.shadowed', '/merchants/0/rules/1/priority'],
  ['rule.shadows', '/merchants/0/rules/2/priority'],
  ['limit.capacity.below_refill', '/defaultRules/0/limits/0/capacity'],
];

describe('a file with rules that are probably mistakes', () => {
  it.each(['', '&dryRun=true'])('is refused where strict=true asks for it%s, and nothing is written', async (more) => {
    const { status, body } = await apply(mistaken, `?strict=true${more}`);
    if (more === '') {
      expect([status, body.code]).toEqual([400, 'rule.warnings']);
      expect(found({ body: { warnings: body.errors as Result['warnings'] } as Result })).toEqual(warnings);
    } else {
      expect([status, body.refusal?.code, found({ body })]).toEqual([200, 'rule.warnings', warnings]);
    }
    expect((await api.ask('GET', '/v1/merchants')).body).toMatchObject({ items: [] });
    expect((await api.ask('GET', '/v1/audit')).body).toMatchObject({ items: [] });
  });

  it('is applied with warnings that point into it, the same as those of its dry run, and the second time there are none', async () => {
    const dry = await apply(mistaken, '?dryRun=true');
    const done = await apply(mistaken);
    expect([done.status, found(done), done.body.warnings]).toEqual([200, warnings, dry.body.warnings]);
    expect(done.body.warnings?.[1]?.detail).toBe(
      'is never asked: rule "wide", priority 500 comes first and matches every request that this rule matches',
    );
    expect((await apply(mistaken, '?strict=true')).body).toEqual({ changes: [], applied: true });
  });

  it('gets the warnings that the rules have one by one', async () => {
    const { items } = (await api.ask('GET', '/v1/merchants/zeta/rules')).body as { items: { id: string }[] };
    const one = await Promise.all(items.map(async ({ id }) => (await api.ask('GET', `/v1/merchants/zeta/rules/${id}`)).body as Result));
    expect(one.flatMap((body) => found({ body }).map(([code]) => code)).sort()).toEqual(['rule.shadowed', 'rule.shadowed', 'rule.shadows']);
  });

  it('tells of the rules that it changes, and names stored ones by their ids', async () => {
    const [zeta] = mistaken.merchants;
    const [fine, narrow, wide] = zeta!.rules;
    const changed = await apply({ merchants: [{ ...zeta, rules: [fine, { ...narrow, cost: 2 }, wide] }] });
    expect(found(changed)).toEqual([warnings[1]]);
    expect(changed.body.warnings?.[0]?.detail).toMatch(/^is never asked: rule \d+, "wide", priority 500 comes first/);
  });

  it('may have more warnings than the answer tells, which are counted', async () => {
    const wide = [rule('a', { priority: 500 }), ...Array.from({ length: 60 }, (_, i) => rule(`b ${i}`, paths(`/b/${i}`)))];
    const { body } = await apply({ merchants: [merchant('many-1', wide), merchant('many-2', wide)] }, '?dryRun=true');
    // One of the rule that comes first, and one of each behind it.
    expect([body.warnings?.length, body.moreWarnings]).toEqual([100, 22]);
  });
});

describe('a rule of a file is compared', () => {
  const plan = (...rules: object[]) => ({ name: 'pro', note: '', rules });
  beforeEach(async () => {
    await apply({ merchants: [] }, '?deleteMerchants=true&deletePlans=true&maxDeletePercent=100');
    await apply({ defaultRules: [] }, '?maxDeletePercent=100');
  });

  it('with those of the plan and the default rules that the file brings along', async () => {
    const first = rule('first', { priority: 900, ...paths('/p/**') });
    const document = {
      plans: [plan(first)],
      merchants: [merchant('of-pro', [rule('behind a plan', paths('/p/x')), rule('behind a default', paths('/d'))], { plan: 'pro' })],
      defaultRules: [rule('default', { priority: 800, ...paths('/d') })],
    };
    const expected = [
      ['rule.shadowed', '/merchants/0/rules/0/priority'],
      ['rule.shadowed', '/merchants/0/rules/1/priority'],
    ];
    expect(found(await apply(document, '?dryRun=true'))).toEqual(expected);
    const { body } = await apply(document);
    expect([found({ body }), body.warnings?.[0]?.detail]).toEqual([
      expected,
      'is never asked: rule of the plan "first", priority 900 comes first and matches every request that this rule matches',
    ]);
  });

  it('with those of the plan and the default rules that stand', async () => {
    await apply({ plans: [plan(rule('first', { priority: 900, ...paths('/p') }))], defaultRules: [rule('default', { priority: 800 })] });
    const rules = [rule('behind a plan', { priority: 850, ...paths('/p') }), rule('behind a default')];
    const { body } = await apply({ merchants: [merchant('of-pro', rules, { plan: 'pro' })] });
    expect(body.warnings?.map(({ detail }) => detail.replaceAll(/\d+,/g, 'ID,'))).toEqual([
      'is never asked: rule of the plan ID, "first", priority 900 comes first and matches every request that this rule matches',
      'is never asked: default rule ID, "default", priority 800 comes first and matches every request that this rule matches',
    ]);
  });

  it('with those of its owner that select leaves alone', async () => {
    await apply({ merchants: [merchant('acme', [rule('outside', { priority: 500 })])] });
    const inside = rule('inside', { labels: { team: 'risk' } });
    const { body } = await apply({ merchants: [merchant('acme', [inside])] }, '?select=team=risk');
    expect(found({ body })).toEqual([['rule.shadowed', '/merchants/0/rules/0/priority']]);
  });

  it('but not with one that the file deletes', async () => {
    await apply({ merchants: [merchant('acme', [rule('gone', { priority: 500 })])] });
    const { status, body } = await apply({ merchants: [merchant('acme', [rule('alone')])] }, '?maxDeletePercent=100&strict=true');
    expect([status, body.warnings]).toEqual([200, undefined]);
  });
});
