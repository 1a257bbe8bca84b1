import * as fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { mutated } from '../../testing/odd-json.js';
import { runs } from '../../testing/properties/runs.js';
import type { Field, Fields } from '../fields/field.js';
import { objectFaults } from '../fields/field-faults.js';
import { LIMIT } from '../limits/limit-fields.js';
import { RULE_FIELDS } from './rule.js';
import { BEYOND_THE_SCHEMA, ruleSchema } from './rule-schema.js';

const FILE = join(import.meta.dirname, '../../../../docs/schema/rule.schema.json');

type Validator = (value: unknown) => boolean;
const { default: Ajv } = createRequire(import.meta.url)('ajv/dist/2020') as {
  default: new (options: object) => { compile(schema: unknown): Validator };
};

const published = JSON.parse(readFileSync(FILE, 'utf8')) as object;
const fits = new Ajv({ strictTypes: false, strictRequired: false }).compile(published);
const faultsOf = (rule: unknown) => objectFaults(rule as Record<string, unknown>, RULE_FIELDS, { pointer: '', code: 'rule' });

/** The examples of the fields that have one. */
const examplesOf = (fields: Fields, wanted: (field: Field) => boolean) =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) => (field.example !== undefined && wanted(field) ? [[name, field.example]] : [])),
  );

const limits = Object.entries(LIMIT.variants).map(([algorithm, { fields }]) => ({
  algorithm,
  ...examplesOf(fields, ({ required }) => required !== undefined),
}));
const window = { name: 'window', algorithm: 'fixed_window', limit: 5 };
const bucket = { name: 'steps', algorithm: 'token_bucket', capacity: 10, refillTokens: 5, refill: 'interval' };

const RULES: readonly object[] = [
  ...limits.filter(({ algorithm }) => algorithm !== 'fixed_window').map((limit) => ({ name: limit.algorithm, limits: [limit] })),
  {
    name: 'windows',
    limits: [
      { ...window, windowMs: 60_000, start: 'first_request' },
      { ...window, name: 'day', calendar: 'day', timeZone: 'Europe/Berlin' },
    ],
  },
  {
    name: 'steps',
    limits: [
      { ...bucket, calendar: 'day', initialTokens: 1 },
      { ...bucket, name: 'other', refillIntervalMs: 1_000, align: 'clock' },
    ],
  },
  {
    name: 'queue',
    limits: [
      { name: 'q', algorithm: 'leaky_bucket', capacity: 5, drainTokens: 5, drainIntervalMs: 1_000, onLimit: { delay: { maxWaitMs: 100 } } },
    ],
  },
  { name: 'soft', limits: [{ ...bucket, refillIntervalMs: 1_000, throttle: 'soft', excessPercent: 10, onEdit: 'reset' }] },
  {
    ...examplesOf(RULE_FIELDS, () => true),
    layer: 'user',
    match: { methods: ['POST'], paths: ['/transactions/**'] },
    key: ['merchant', 'ip'],
    limits: [{ ...bucket, refillIntervalMs: 1_000 }],
    penalty: { refusals: 3, windowMs: 1_000, blockMs: 1_000 },
  },
  {
    name: 'conditions',
    mode: { enforcePercent: 10 },
    match: {
      all: [
        { field: 'header.X-Channel', in: ['web', 7] },
        {
          any: [
            { field: 'query.a b', contains: ['x', 'y'] },
            { field: 'country', equals: '' },
          ],
        },
        { not: { field: 'ip', inRanges: ['10.0.0.0/8', '2001:db8::/32'] } },
        {
          all: [
            { field: 'cookie.c', from: 1.5, to: 2 },
            { field: 'apiKey.label.team', absent: true },
            { field: 'path', like: '/a*' },
          ],
        },
      ],
    },
    key: ['ip.prefix', 'header.x-device-id'],
    limits: [{ ...bucket, refillIntervalMs: 1_000 }],
    charge: { on: 'request' },
    consistency: 'leased',
    onStoreFailure: 'leased',
  },
];

describe('docs/schema/rule.schema.json', () => {
  it('is what the tables of fields say; npm run schema writes it', () => {
    expect(readFileSync(FILE, 'utf8')).toBe(`${JSON.stringify(ruleSchema(), null, 2)}\n`);
  });

  it.each(RULES)('accepts what is accepted: %j', (rule) => expect([faultsOf(rule), fits(rule)]).toEqual([[], true]));

  it('describes every field', () => {
    const fields = [RULE_FIELDS, ...Object.values(LIMIT.variants).map((variant) => variant.fields)].flatMap((table) =>
      Object.values<Field>(table),
    );
    expect(fields.filter(({ explanation }) => !/^[A-Z].*\.$/.test(explanation))).toEqual([]);
  });

  it('gives the verdict that the rules API gives, but for what no schema can say', () => {
    const isBeyond = (code: string) => BEYOND_THE_SCHEMA.some((each) => each.code.test(code));
    const seen = { accepted: 0, refused: 0, beyond: new Set<string>() };
    for (const rule of RULES) {
      fc.assert(
        fc.property(mutated(rule), (value) => {
          const body = JSON.parse(JSON.stringify(value ?? null)) as unknown;
          if (typeof body !== 'object' || body === null || Array.isArray(body)) return;
          const codes = faultsOf(body).map(({ code }) => code);
          const said = codes.filter((code) => !isBeyond(code));
          if (codes.length === 0) expect([body, fits(body)]).toEqual([body, true]);
          if (said.length > 0) expect([body, codes, fits(body)]).toEqual([body, codes, false]);
          if (codes.length === 0) seen.accepted++;
          else if (said.length > 0) seen.refused++;
          else codes.forEach((code) => seen.beyond.add(code));
        }),
        runs(150),
      );
    }
    expect(seen.accepted).toBeGreaterThan(5);
    expect(seen.refused).toBeGreaterThan(300);
    expect(seen.beyond.size).toBeGreaterThan(2);
  });
});
