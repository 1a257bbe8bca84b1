import { createHash } from 'node:crypto';
import { Callers, LOCAL_CALLER } from './callers.js';

const known = (name: string, token: string) => ({ name, digest: createHash('sha256').update(token).digest() });
const callers = new Callers([known('checkout', 'first-token'), known('checkout', 'next-token'), known('billing', 'third-token')]);

const codeOf = (ask: () => unknown): unknown => {
  try {
    return ask();
  } catch (error) {
    return (error as { code: string }).code;
  }
};

test.each([
  ['first-token', 'checkout'],
  ['next-token', 'checkout'],
  ['third-token', 'billing'],
  ['third-token ', 'token.invalid'],
  ['', 'token.missing'],
])('%j is from %s', (token, name) => {
  expect(codeOf(() => callers.named(token, '127.0.0.1'))).toBe(name);
});

test.each([
  ['127.0.0.1', LOCAL_CALLER],
  ['127.9.9.9', LOCAL_CALLER],
  ['::1', LOCAL_CALLER],
  ['10.0.0.1', 'decision_api.no_tokens'],
  ['2001:db8::1', 'decision_api.no_tokens'],
  ['', 'decision_api.no_tokens'],
])('without tokens a caller at %j is %s', (peer, name) => {
  expect(codeOf(() => new Callers([]).named('any', peer))).toBe(name);
});

test('the token of a proxy goes before the Authorization of its client', () => {
  const headers = { authorization: 'Bearer of-a-client' };
  expect(callers.credentialIn({ headers })).toBe('of-a-client');
  expect(callers.credentialIn({ headers: { ...headers, 'x-tollgate-token': 'of-the-proxy' } })).toBe('of-the-proxy');
  // Two are one that is wrong, and no third is looked for.
  expect(callers.credentialIn({ headers: { ...headers, 'x-tollgate-token': ['a', 'b'] } })).toBe('a, b');
  expect(callers.credentialIn({ headers: { authorization: 'Basic abc' } })).toBe('Basic abc');
  expect(callers.credentialIn({ headers: {} })).toBe('');
});
