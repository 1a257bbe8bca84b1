import * as fc from 'fast-check';
import { runs } from '../../testing/properties/runs.js';
import { bucketKey, escaped, merchantBucketKey } from './bucket-key.js';
import type { Descriptor } from '../matching/descriptor.js';
import type { KeyPart } from '../rules/rule.js';

const descriptor = { merchantId: 'acme', ip: '192.0.2.1', method: 'POST', target: '/' };

test('reads well for ordinary ids', () => {
  expect(bucketKey({ id: '17', key: ['merchant'] }, 0, descriptor)).toBe('{acme}h.0');
  expect(bucketKey({ id: '17', key: ['merchant', 'ip'] }, 2, descriptor)).toBe('{acme}h.2:192.0.2.1');
  expect(bucketKey({ id: '17', key: ['ip'] }, 2, descriptor)).toBe('{}h.2:192.0.2.1');
  expect(merchantBucketKey('acme', '17', 0)).toBe('{acme}h.0');
});

test('the order in which the parts of a key are written makes no difference, and the usual one is that of the text', () => {
  const written: KeyPart[][] = [
    ['merchant', 'ip', 'method'],
    ['method', 'ip', 'merchant'],
    ['ip', 'merchant', 'method'],
  ];
  for (const key of written) expect(bucketKey({ id: '17', key }, 2, descriptor)).toBe('{acme}h.2:192.0.2.1:POST');
  for (const key of [
    ['ip', 'method'],
    ['method', 'ip'],
  ] as const)
    expect(bucketKey({ id: '17', key }, 2, descriptor)).toBe('{}h.2:192.0.2.1:POST');
});

test.each(['a:b', 'a{b', 'a}b', 'a b', 'a"b', "a'b", 'a\nb', 'a\\b', 'a%b', 'a\0b', 'ä', '🦊', '\ud83e', 'a,b', 'a*b'])(
  'the key of %j has only harmless characters',
  (id) => expect(merchantBucketKey(id, '1', 0)).toMatch(/^\{[A-Za-z0-9_.~@+%-]+\}1\.0$/),
);

// Law 8.
test('two different descriptors never share a key', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('{', '}', ':', '%', '.', '0', '1', 'a', ' ', '\n', '🦊') }),
  );
  const request = fc.record({ merchantId: text, ip: text, method: text, target: fc.constant('/') });
  const rule = fc.record({ id: fc.integer({ min: 1, max: 30 }).map(String), key: fc.constant<KeyPart[]>(['merchant', 'ip', 'method']) });
  fc.assert(
    fc.property(request, request, rule, rule, fc.nat(30), fc.nat(30), (a, b, ruleA, ruleB, limitA, limitB) => {
      const same = a.merchantId === b.merchantId && a.ip === b.ip && a.method === b.method && ruleA.id === ruleB.id && limitA === limitB;
      expect(bucketKey(ruleA, limitA, a) === bucketKey(ruleB, limitB, b)).toBe(same);
    }),
    runs(600),
  );
});

test('escaping is injective', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => (escaped(a) === escaped(b)) === (a === b)));
});

describe('a key of any field', () => {
  const keyOf = (key: readonly KeyPart[], headers: Readonly<Record<string, readonly string[]>> = {}, changes: Partial<Descriptor> = {}) => {
    const more = { headerValues: (name: string) => headers[name] ?? [], hostName: undefined };
    return bucketKey({ id: '17', key }, 0, { ...descriptor, more, ...changes });
  };

  test('reads well where a client cannot write what it likes', () => {
    expect(keyOf(['merchant', 'user', 'ip.prefix'], {}, { ip: '2001:db8:1:2::1', user: 'u-1' })).toBe(
      '{acme}h.0:ip.prefix=2001%003adb8%003a1%003a2%003a%003a%002f64:user=u-1',
    );
    expect(keyOf(['user', 'ip', 'method', 'merchant'])).toBe('{acme}h.0:192.0.2.1:POST:user');
  });

  test('has a digest of what a client writes, so that it is short, and no secret', () => {
    const key = keyOf(['merchant', 'header.Authorization'], { authorization: ['Bearer secret'] });
    expect(key).toMatch(/^\{acme\}h\.0:header\.authorization==[\w-]{24}$/);
    expect(keyOf(['merchant', 'user'], {}, { user: 'x'.repeat(10_000) }).length).toBeLessThan(60);
  });

  test('is one for a header in any case, and in any order of its parts', () => {
    const headers = { 'x-a': ['1'], 'x-b': ['2'] };
    const keys = [
      ['header.x-a', 'header.X-B'],
      ['header.x-b', 'header.X-A', 'header.x-a'],
    ].map((key) => keyOf(key, headers));
    expect(keys[0]).toBe(keys[1]);
  });

  // Law 8, with absence, empty texts and values that come more than once.
  test('two requests that differ in a field never share it', () => {
    const values = fc.array(fc.string({ unit: fc.constantFrom('', '1', ':', '=', ',', 'é', '\ud800'), maxLength: 3 }), { maxLength: 3 });
    const user = fc.option(fc.string({ unit: 'binary', maxLength: 4 }), { nil: undefined });
    const request = fc.record({ a: values, b: values, user });
    fc.assert(
      fc.property(request, request, (one, other) => {
        const [first, second] = [one, other].map(({ a, b, user }) =>
          keyOf(['merchant', 'header.a', 'header.b', 'user'], { a, b }, { user }),
        );
        expect(first === second).toBe(
          JSON.stringify([one.a, one.b, one.user ?? null]) === JSON.stringify([other.a, other.b, other.user ?? null]),
        );
        expect(first).toMatch(/^[A-Za-z0-9_.~@+%{}:=,-]+$/);
      }),
      runs(600),
    );
  });
});
