import { retryKeyOf } from './retry-key.js';

const keyOf = (keys: string[], { method = 'POST', target = '/pay', bodyLength = 10 } = {}): string | undefined =>
  retryKeyOf({ method, target, head: { bodyLength }, receivedValues: (name) => (name === 'idempotency-key' ? keys : []) });

test('a retry has the same key, method, path, query and length', () => {
  const same = keyOf(['k']);
  expect(keyOf(['k'])).toBe(same);
  const others = [keyOf(['l']), keyOf(['k'], { method: 'PUT' }), keyOf(['k'], { target: '/pay?x' }), keyOf(['k'], { bodyLength: 11 })];
  expect(new Set([same, ...others]).size).toBe(5);
});

test.each([
  ['no key', []],
  ['an empty key', ['']],
  ['two keys', ['a', 'a']],
  ['a key that is too long', ['k'.repeat(256)]],
])('a request with %s is charged like any other', (_what, keys) => expect(keyOf(keys)).toBeUndefined());

test('a request whose body has no declared length is charged like any other', () =>
  expect(keyOf(['k'], { bodyLength: -1 })).toBeUndefined());
