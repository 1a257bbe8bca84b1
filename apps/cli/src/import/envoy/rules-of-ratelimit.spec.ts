import { parse } from 'yaml';
import { describedRequest, descriptorText } from '#envoy';
import {
  completed,
  MemoryBucketStore,
  merchantRules,
  objectFaults,
  RateLimiter,
  RULE_FIELDS,
  startLimits,
  writingFaults,
  type CheckOutcome,
  type Rule,
  type RuleSpec,
  type Verdict,
} from '#limiter';
import { rulesOfRatelimit, type Translation, type WrittenRule } from './rules-of-ratelimit.js';

const translate = (yaml: string) => rulesOfRatelimit(parse(yaml, { schema: 'failsafe' }));

function translated(yaml: string): Translation {
  const translation = translate(yaml);
  if ('faults' in translation) throw new Error(JSON.stringify(translation.faults));
  return translation;
}

/** With the defaults, as the Rules API would store it; a rule that it would refuse fails the test. */
function stored(rule: WrittenRule): RuleSpec {
  expect(objectFaults({ ...rule }, RULE_FIELDS, { pointer: '', code: 'rule' })).toEqual([]);
  const spec = completed({ ...rule }, RULE_FIELDS) as unknown as RuleSpec;
  expect(writingFaults(spec)).toEqual([]);
  return spec;
}

type Descriptor = Readonly<Record<string, string>>;

/** Answers calls by the rules of a file, each with descriptors, as the decision API does. */
function service(yaml: string): (...call: Descriptor[]) => string[] {
  const { domain, document } = translated(yaml);
  let id = 0;
  const ruleOf = (rule: WrittenRule): Rule => {
    const spec = stored(rule);
    return { ...spec, id: String(++id), limits: startLimits(spec.limits, 0) };
  };
  const defaults = (document.defaultRules ?? []).map(ruleOf);
  const owners = new Map(document.merchants.map((merchant) => [merchant.id, merchant.rules.map(ruleOf)]));
  const store = new MemoryBucketStore(() => 0);
  const limiter = new RateLimiter(store, store, { nowMs: () => 0 });
  return (...call) => {
    const all = call.map((descriptor) => Object.entries(descriptor).map(([key, value]) => ({ key, value })));
    return all.map((entries) => {
      const others = all.filter((other) => other !== entries).map((other) => descriptorText(domain, other));
      const { merchant, path = '/', method = '', ip = '', user, headers } = describedRequest(domain, entries, others);
      const more = { headerValues: (name: string) => [headers[name] ?? []].flat(), hostName: undefined };
      let outcome: CheckOutcome | undefined;
      const rules = merchantRules(merchant, owners.get(merchant) ?? [], defaults);
      limiter.check(rules, { merchantId: merchant, target: path, method, ip, user, more }, (answer) => (outcome = answer));
      return inWords(outcome as Verdict);
    });
  };
}

/** `5/1000: 4 left`, `over`, or `none` where no limit was found. */
function inWords({ allowed, limits: [first] }: Verdict): string {
  if (first === undefined) return 'none';
  const { limit, decision } = first;
  return allowed ? `${decision.limit} in ${(limit as { windowMs: number }).windowMs}: ${decision.remaining} left` : 'over';
}

const BASIC = `
domain: test-domain
descriptors:
  - key: key1
    value: value1
    descriptors:
      - key: subkey1
        rate_limit: { unit: second, requests_per_unit: 5 }
      - key: subkey1
        value: subvalue1
        rate_limit: { unit: second, requests_per_unit: 10 }
  - key: key2
    rate_limit: { unit: minute, requests_per_unit: 20 }
  - key: key2
    value: value2
    rate_limit: { unit: MINUTE, requests_per_unit: 30 }
  - { key: key2, value: value3 }
  - key: key3
    rate_limit: { unit: hour, requests_per_unit: 1 }
  - key: key4
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: key5
    value: value5
    rate_limit: { unit: week, requests_per_unit: 15 }
    descriptors:
      - key: subkey5
        value: subvalue5
        rate_limit: { unit: month, requests_per_unit: 25 }
  - key: key6
    rate_limit: { unlimited: true }
  - key: key7
    rate_limit: { unit: year, requests_per_unit: 7 }
    detailed_metric: true
  - key: key8
    rate_limit: { unit: minute, unit_multiplier: 5, requests_per_unit: 8 }
`;

describe('the limit of a descriptor', () => {
  it.each<[string, Descriptor, string]>([
    ['that of its value before that of its key', { key2: 'value2' }, '30 in 60000: 29 left'],
    ['that of its key for any other value', { key2: 'else' }, '20 in 60000: 19 left'],
    ['none for a value that has no limit', { key2: 'value3' }, 'none'],
    ['none for a key that the file lacks', { key9: 'x' }, 'none'],
    ['that of the nested value', { key1: 'value1', subkey1: 'subvalue1' }, '10 in 1000: 9 left'],
    ['that of the nested key', { key1: 'value1', subkey1: 'x' }, '5 in 1000: 4 left'],
    ['none above a nested limit', { key1: 'value1' }, 'none'],
    ['none below another value', { key1: 'value2', subkey1: 'x' }, 'none'],
    ['none with an entry more than the file', { key2: 'value2', other: 'x' }, 'none'],
    ['none in another order', { subkey1: 'x', key1: 'value1' }, 'none'],
    ['that of its own depth', { key5: 'value5' }, '15 in 604800000: 14 left'],
    ['that of the depth below', { key5: 'value5', subkey5: 'subvalue5' }, '25 in 2592000000: 24 left'],
    ['one that lets nothing pass', { key4: 'x' }, 'over'],
    ['none where it is unlimited', { key6: 'x' }, 'none'],
    ['that of a year', { key7: 'x' }, '7 in 31536000000: 6 left'],
    ['several units long', { key8: 'x' }, '8 in 300000: 7 left'],
    ['that of an empty value', { key3: '' }, '1 in 3600000: 0 left'],
  ])('is %s: %j', (_, descriptor, answer) => {
    expect(service(BASIC)(descriptor)).toEqual([answer]);
  });

  it('is a budget for each value that the file leaves open', () => {
    const ask = service(BASIC);
    expect([ask({ key3: 'a' }), ask({ key3: 'a' }), ask({ key3: 'b' })].flat()).toEqual([
      '1 in 3600000: 0 left',
      'over',
      '1 in 3600000: 0 left',
    ]);
  });
});

const ROWS: [string, string, [Descriptor[], string[]][]][] = [
  [
    'a star stands for any text, the first in the file before others, and after whole values',
    `
domain: d
descriptors:
  - { key: k, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: k, value: 'a*', rate_limit: { unit: second, requests_per_unit: 2 } }
  - { key: k, value: 'ab*', rate_limit: { unit: second, requests_per_unit: 3 } }
  - { key: k, value: abc, rate_limit: { unit: second, requests_per_unit: 4 } }
  - { key: k, value: '/api*v1', rate_limit: { unit: second, requests_per_unit: 5 } }`,
    [
      [[{ k: 'x' }], ['1 in 1000: 0 left']],
      [[{ k: 'abz' }], ['2 in 1000: 1 left']],
      [[{ k: 'abc' }], ['4 in 1000: 3 left']],
      [[{ k: '/api/x/v1' }], ['5 in 1000: 4 left']],
      [[{ k: 'abz' }], ['2 in 1000: 0 left']],
      [[{ k: 'aby' }], ['2 in 1000: 1 left']],
    ],
  ],
  [
    'all values of a star have one budget where they share it',
    `
domain: d
descriptors:
  - { key: files, value: 'files/*', share_threshold: true, rate_limit: { unit: second, requests_per_unit: 2 } }`,
    [
      [[{ files: 'files/a' }], ['2 in 1000: 1 left']],
      [[{ files: 'files/b' }], ['2 in 1000: 0 left']],
      [[{ files: 'files/c' }], ['over']],
    ],
  ],
  [
    'a value that leads nowhere is not looked up again by its key alone',
    `
domain: d
descriptors:
  - { key: a, value: '1', rate_limit: { unit: second, requests_per_unit: 9 } }
  - key: a
    value: '2'
    descriptors: [{ key: b, value: '5', rate_limit: { unit: second, requests_per_unit: 1 } }]
  - key: a
    descriptors: [{ key: b, rate_limit: { unit: second, requests_per_unit: 3 } }]`,
    [
      [[{ a: '1', b: 'x' }], ['none']],
      [[{ a: '2', b: 'x' }], ['none']],
      [[{ a: '2', b: '5' }], ['1 in 1000: 0 left']],
      [[{ a: '3', b: 'x' }], ['3 in 1000: 2 left']],
    ],
  ],
  [
    'a limit in shadow mode refuses nothing, and is not replaced by that of the key',
    `
domain: d
descriptors:
  - key: service
    descriptors:
      - { key: user, value: a, rate_limit: { unit: second, requests_per_unit: 1 }, shadow_mode: true }
      - { key: user, rate_limit: { unit: second, requests_per_unit: 2 } }`,
    [
      [[{ service: 's', user: 'a' }], ['none']],
      [[{ service: 's', user: 'a' }], ['none']],
      [[{ service: 's', user: 'b' }], ['2 in 1000: 1 left']],
    ],
  ],
  [
    'a limit that another descriptor of the call replaces does not count',
    `
domain: d
descriptors:
  - key: category
    value: read
    descriptors: [{ key: user, rate_limit: { name: reads, unit: second, requests_per_unit: 1 } }]
  - key: endpoint
    value: search
    descriptors: [{ key: user, rate_limit: { unit: second, requests_per_unit: 5, replaces: [{ name: reads }] } }]`,
    [
      [
        [
          { category: 'read', user: 'u' },
          { endpoint: 'search', user: 'u' },
        ],
        ['none', '5 in 1000: 4 left'],
      ],
      [[{ category: 'read', user: 'u' }], ['1 in 1000: 0 left']],
      [
        [
          { category: 'read', user: 'u' },
          { endpoint: 'other', user: 'u' },
        ],
        ['over', 'none'],
      ],
    ],
  ],
  [
    'a descriptor that names a merchant is asked of the rules of that merchant, or of all',
    `
domain: d
descriptors:
  - { key: merchant, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: merchant, value: acme, rate_limit: { unit: second, requests_per_unit: 2 } }`,
    [
      [[{ merchant: 'acme' }], ['2 in 1000: 1 left']],
      [[{ merchant: 'zeta' }], ['1 in 1000: 0 left']],
      [[{ merchant: 'zeta' }], ['over']],
      [[{ merchant: 'eta' }], ['1 in 1000: 0 left']],
    ],
  ],
  [
    'OPTIONS is a method like any other',
    `
domain: d
descriptors:
  - { key: method, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: path, value: /a, descriptors: [{ key: method, value: OPTIONS, rate_limit: { unit: second, requests_per_unit: 2 } }] }`,
    [
      [[{ method: 'OPTIONS' }], ['1 in 1000: 0 left']],
      [[{ method: 'GET' }], ['1 in 1000: 0 left']],
      [[{ method: 'OPTIONS' }], ['over']],
      [[{ path: '/a', method: 'OPTIONS' }], ['2 in 1000: 1 left']],
    ],
  ],
  [
    'keys that are one header, or none, tell values apart all the same',
    `
domain: d
descriptors:
  - key: a
    descriptors: [{ key: A, rate_limit: { unit: second, requests_per_unit: 1 } }]
  - { key: 'no header', rate_limit: { unit: second, requests_per_unit: 1 } }`,
    [
      [[{ a: '1', A: '2' }], ['1 in 1000: 0 left']],
      [[{ a: '2', A: '1' }], ['1 in 1000: 0 left']],
      [[{ a: '1', A: '2' }], ['over']],
      [[{ 'no header': '1' }], ['1 in 1000: 0 left']],
      [[{ 'no header': '2' }], ['1 in 1000: 0 left']],
    ],
  ],
];

it.each(ROWS)('%s', (_, yaml, calls) => {
  const ask = service(yaml);
  for (const [call, answers] of calls) expect([call, ask(...call)]).toEqual([call, answers]);
});

describe('a rule that was imported', () => {
  it('reads like one that a person wrote', () => {
    const { document } = translated(`
domain: messaging
descriptors:
  - key: message_type
    value: marketing
    descriptors: [{ key: to_number, rate_limit: { name: a day, unit: day, requests_per_unit: 5 } }]`);
    expect(document).toEqual({
      version: 1,
      merchants: [
        {
          id: 'messaging',
          name: 'messaging',
          labels: { 'envoy-domain': 'messaging' },
          rules: [
            {
              name: 'message_type=marketing, to_number',
              labels: { 'envoy-domain': 'messaging' },
              priority: 1000,
              match: { all: [{ field: 'header.x-tollgate-descriptor', like: 'messaging/message_type/to_number?marketing/*' }] },
              key: ['merchant', 'header.to_number'],
              limits: [{ name: 'a day', algorithm: 'fixed_window', limit: 5, windowMs: 86_400_000 }],
            },
          ],
        },
      ],
      defaultRules: [],
    });
  });

  it('has a name of its own, however long or alike the words of the file are', () => {
    const { document } = translated(`
domain: d
descriptors:
  - { key: 'a=b', rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: a, value: b, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: ${'k'.repeat(101)}, rate_limit: { unit: second, requests_per_unit: 1 } }
  - { key: "tab\\there", rate_limit: { unit: second, requests_per_unit: 1 } }`);
    const rules = document.merchants[0]!.rules;
    rules.forEach(stored);
    const names = rules.map(({ name }) => name);
    expect(names[0]).toBe('a=b');
    expect(new Set(names).size).toBe(4);
  });

  it('is known by its place in the file', () => {
    const { document, sourceOf } = translated(BASIC);
    const at = document.merchants[0]!.rules.findIndex(({ name }) => name === 'key2=value2');
    expect(sourceOf(`/merchants/0/rules/${at}/limits/0/name`)).toBe('/descriptors/2');
    expect(sourceOf('/merchants/0/id')).toBe('/domain');
    expect(sourceOf('')).toBe('');
  });
});

describe('what cannot be translated', () => {
  const limit = 'rate_limit: { unit: second, requests_per_unit: 1 }';
  it.each([
    ['domain: ""', '/domain', 'must be given'],
    [`domain: ${'d'.repeat(64)}`, '/domain', '1 to 63 characters'],
    ['domain: d\ndescriptors: { key: k }', '/descriptors', 'must be a list'],
    ['domain: d\ndescriptors: [x]', '/descriptors/0', 'must be a mapping'],
    ['domain: d\ndescriptor: []', '/descriptor', 'known are domain, descriptors'],
    ['domain: d\ndescriptors: [{ value: v }]', '/descriptors/0/key', 'must be given'],
    ['domain: d\ndescriptors: [{ key: k* }]', '/descriptors/0/key', 'only a value may have a star'],
    ['domain: d\ndescriptors: [{ key: k, quota_mode: true }]', '/descriptors/0/quota_mode', 'no quotas'],
    ['domain: d\ndescriptors: [{ key: k, metadata: { name: n } }]', '/descriptors/0/metadata', 'no dynamic metadata'],
    ['domain: d\ndescriptors: [{ key: k, shadow_mode: maybe }]', '/descriptors/0/shadow_mode', 'true or false'],
    ['domain: d\ndescriptors: [{ key: k }, { key: k }]', '/descriptors/1', 'twice: "k"'],
    ['domain: d\ndescriptors: [{ key: k, rate_limit: { requests_per_unit: 1 } }]', '/descriptors/0/rate_limit/unit', 'must be given'],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: decade, requests_per_unit: 1 } }]',
      '/descriptors/0/rate_limit/unit',
      'one of second',
    ],
    ['domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day } }]', '/descriptors/0/rate_limit/requests_per_unit', 'got nothing'],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 4000000000 } }]',
      '/descriptors/0/rate_limit/requests_per_unit',
      '1000000000',
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: year, unit_multiplier: 2, requests_per_unit: 1 } }]',
      '/descriptors/0/rate_limit/unit_multiplier',
      '1 to 1',
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, unit_multiplier: 0, requests_per_unit: 1 } }]',
      '/descriptors/0/rate_limit/unit_multiplier',
      '1 to 366',
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unlimited: true, unit: day } }]',
      '/descriptors/0/rate_limit/unit',
      'beside unlimited',
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { name: a, unit: day, requests_per_unit: 1, replaces: [{ name: a }] } }]',
      '/descriptors/0/rate_limit/replaces/0/name',
      'same limit',
    ],
    [
      'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 1, replaces: [{ name: b }] } }]',
      '/descriptors/0/rate_limit/replaces/0',
      'name of a limit',
    ],
    [
      `domain: d\ndescriptors: [{ key: k, value: v, ${limit} }, { key: k, rate_limit: { unit: day, requests_per_unit: 1, replaces: [{ name: b }] } }, { key: x, rate_limit: { name: b, unit: day, requests_per_unit: 1 } }]`,
      '/descriptors/1/rate_limit/replaces',
      'other values of the same key',
    ],
    [`domain: d\ndescriptors: [{ key: merchant, value: "${'m'.repeat(129)}", ${limit} }]`, '/descriptors/0/value', 'id of a merchant'],
    [
      `domain: d\ndescriptors: [{ key: merchant, descriptors: [{ key: merchant, ${limit} }] }]`,
      '/descriptors/0/descriptors/0',
      'names one merchant',
    ],
    [`domain: d\ndescriptors: [{ key: k, value: ${'v'.repeat(254)}, ${limit} }]`, '/descriptors/0', 'more than 256 characters'],
    [
      `domain: d\ndescriptors: [{ key: A, descriptors: [{ key: a, value: 'x*', share_threshold: true, ${limit} }] }]`,
      '/descriptors/0/descriptors/0/share_threshold',
      'a field of its own',
    ],
  ])('%s is a fault at %s', (yaml, pointer, words) => {
    const translation = translate(yaml);
    expect('faults' in translation && translation.faults).toEqual([{ pointer, detail: expect.stringContaining(words) as string }]);
  });

  it('is bounded: what is nested too deep, and values that would have to be excepted one by one', () => {
    const nested = (levels: number): string => (levels === 0 ? '' : `, descriptors: [{ key: k${nested(levels - 1)} }]`);
    expect(translate(`{ domain: d${nested(17)} }`)).toEqual({
      faults: [expect.objectContaining({ detail: 'is nested deeper than 16 levels' })],
    });
    const stars = Array.from({ length: 30 }, (_, i) => `{ key: k, value: 'v${i}*' }`);
    expect(translate(`domain: d\ndescriptors: [${stars.join(', ')}, { key: k, ${limit} }]`)).toEqual({
      faults: [{ pointer: '/descriptors/30', detail: expect.stringContaining('too many values') as string }],
    });
    const values = Array.from({ length: 250 }, (_, i) => `{ key: k, value: 'v${i}' }`);
    translated(`domain: d\ndescriptors: [${values.join(', ')}, { key: k, ${limit} }]`).document.merchants[0]!.rules.forEach(stored);
  });

  it('is told as a whole, but not without end', () => {
    const many = Array.from({ length: 300 }, (_, i) => `{ key: k${i}, rate_limit: { unit: x, requests_per_unit: 1 } }`);
    const translation = translate(`domain: d\ndescriptors: [${many.join(', ')}]`);
    expect('faults' in translation && translation.faults).toHaveLength(100);
  });
});
