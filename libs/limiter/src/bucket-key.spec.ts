import * as fc from 'fast-check';
import { bucketKey, escaped, merchantBucketKey } from './bucket-key.js';
import type { KeyPart } from './rule.js';

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
    { numRuns: 2000 },
  );
});

test('escaping is injective', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => (escaped(a) === escaped(b)) === (a === b)));
});
