import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parse } from 'yaml';
import { completed, RULE_FIELDS, type RuleSpec } from '#limiter';
import { ruleBody } from '../../../../test/support/factories/rules.js';
import { configurationSchema } from './configuration-schema.js';
import type { ConfiguredMerchant, ConfiguredPlan } from './configuration.dto.js';
import { readConfiguration } from './document.js';
import { DocumentText } from './document-text.js';
import { WRITERS } from './export.js';

const FILE = join(import.meta.dirname, '../../../../docs/schema/configuration.schema.json');

const { default: Ajv } = createRequire(import.meta.url)('ajv/dist/2020') as {
  default: new (options: object) => { compile(schema: unknown): (value: unknown) => boolean };
};
const fits = new Ajv({ strictTypes: false, strictRequired: false }).compile(JSON.parse(readFileSync(FILE, 'utf8')));

const rule = (changes: object = {}) => completed(ruleBody({ ...changes }), RULE_FIELDS) as unknown as RuleSpec;
const merchant: ConfiguredMerchant = {
  id: 'acme',
  name: 'Acme',
  timeZone: 'Europe/Berlin',
  labels: { team: 'risk' },
  plan: 'pro',
  rules: [rule({ labels: { team: 'risk' } }), rule({ name: 'with a penalty', penalty: { refusals: 3, windowMs: 1_000, blockMs: 1_000 } })],
};

const plan: ConfiguredPlan = { name: 'pro', note: 'why', labels: { team: 'risk' }, rules: [rule({ name: 'of a plan' })] };

async function written(format: 'yaml' | 'json', merchants: ConfiguredMerchant[], defaultRules: RuleSpec[] | undefined): Promise<string> {
  async function* pieces<T>(some: T[]) {
    yield await Promise.resolve(some);
  }
  const plans = pieces(merchants.length > 0 ? [plan] : []);
  const read = { plans, merchants: pieces(merchants), defaultRules: () => Promise.resolve(defaultRules) };
  let text = '';
  for await (const piece of WRITERS[format](read)) text += piece;
  return text;
}

describe('docs/schema/configuration.schema.json', () => {
  it('is what the tables of fields say; npm run schema writes it', () => {
    expect(readFileSync(FILE, 'utf8')).toBe(`${JSON.stringify(configurationSchema(), null, 2)}\n`);
  });

  it.each<[string, ConfiguredMerchant[], RuleSpec[] | undefined]>([
    ['nothing', [], []],
    ['one merchant', [merchant], undefined],
    ['merchants and default rules', [merchant, { id: 'zeta', name: 'Zeta', timeZone: 'UTC', labels: {}, rules: [] }], [rule()]],
  ])('describes an export of %s, as YAML and as JSON', async (_what, merchants, defaultRules) => {
    const yaml = parse(await written('yaml', merchants, defaultRules)) as unknown;
    const json = JSON.parse(await written('json', merchants, defaultRules)) as unknown;
    expect([fits(yaml), fits(json)]).toEqual([true, true]);
    for (const document of [yaml, DocumentText.ofJson(Buffer.from(JSON.stringify(json)))]) {
      const configuration = await readConfiguration(document);
      expect([...configuration.plans]).toEqual(merchants.length > 0 ? [{ ...plan, pointer: '/plans/0' }] : []);
      expect([...configuration.merchants]).toEqual(merchants.map((each, i) => ({ plan: null, ...each, pointer: `/merchants/${i}` })));
      expect(configuration.defaultRules).toEqual(defaultRules);
    }
  });

  it.each<[string, object]>([
    ['no version', { merchants: [] }],
    ['another version', { version: 2 }],
    ['a misspelt list', { version: 1, merchant: [] }],
    ['a merchant that is a text', { version: 1, merchants: ['acme'] }],
    ['a merchant without a name', { version: 1, merchants: [{ id: 'acme' }] }],
    ['a label that is a number', { version: 1, merchants: [{ id: 'a', name: 'a', labels: { team: 7 } }] }],
    ['rules that are no list', { version: 1, merchants: [{ id: 'a', name: 'a', rules: {} }] }],
    ['a rule with an id', { version: 1, defaultRules: [{ ...ruleBody(), id: '7' }] }],
    ['a rule without limits', { version: 1, defaultRules: [{ name: 'x' }] }],
    ['an unknown algorithm', { version: 1, defaultRules: [{ name: 'x', limits: [{ name: 'l', algorithm: 'magic' }] }] }],
    ['a wrong cost', { version: 1, merchants: [{ id: 'a', name: 'a', rules: [ruleBody({ cost: 0 })] }] }],
    ['too many rules', { version: 1, defaultRules: Array.from({ length: 101 }, (_, i) => ruleBody({ name: `x${i}` })) }],
  ])('refuses a document with %s, as apply does', async (_what, document) => {
    expect(fits(document)).toBe(false);
    await expect(readConfiguration(document)).rejects.toMatchObject({ status: 400 });
  });
});

it('an export in YAML begins with the address of the schema, for editors', async () => {
  expect(await written('yaml', [merchant], undefined)).toMatch(
    /^# yaml-language-server: \$schema=http:\/\/127\.0\.0\.1:3000\/schema\/configuration\.json\nversion: 1\n/,
  );
});
