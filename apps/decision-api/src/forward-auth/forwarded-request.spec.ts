import { createTrust, KnownAddresses } from '#edge';
import { forwardedRequest } from './forwarded-request.js';

const known = new KnownAddresses(createTrust(['10.0.0.0/8']));
const PLAIN = { 'X-Merchant-Id': 'acme', 'X-Forwarded-Method': 'POST', 'X-Forwarded-Uri': '/pay?x=1' };

const read = (headers: Record<string, string | readonly string[]>, peer = '10.0.0.1') =>
  forwardedRequest(
    { rawHeaders: Object.entries(headers).flatMap(([name, value]) => [value].flat().flatMap((each) => [name, each])), peer },
    known,
  );

const codeOf = (headers: Record<string, string | readonly string[]>, peer?: string): unknown => {
  try {
    return read(headers, peer);
  } catch (error) {
    return (error as { code: string }).code;
  }
};

test('a client does not say what other doors say of a request', () => {
  expect(Object.keys(read({ ...PLAIN, 'X-Tollgate-Descriptor': 'shop/user?ann', 'X-Tollgate-Beside': 'x' }).headers!)).toEqual([]);
});

test('the request is the one that the proxy was sent', () => {
  expect(
    read({
      ...PLAIN,
      'X-User-Id': 'u-17',
      'X-Forwarded-For': '1.1.1.1, 192.0.2.7, 10.0.0.9',
      'X-Forwarded-Host': 'api.example.com',
      'X-Channel': ['web', 'app'],
      Host: 'decisions:8090',
      'X-Tollgate-Token': 'secret',
    }),
  ).toEqual({
    merchant: 'acme',
    user: 'u-17',
    ip: '192.0.2.7',
    method: 'POST',
    path: '/pay?x=1',
    host: 'api.example.com',
    headers: expect.objectContaining({ 'x-channel': ['web', 'app'] }),
    bodyUnknown: true,
  });
  const { headers } = read({ ...PLAIN, 'X-Tollgate-Token': 'secret', Host: 'x' });
  expect(Object.keys(headers!)).toEqual([]);
});

test.each([
  ['nginx', { 'X-Merchant-Id': 'acme', 'X-Original-Method': 'GET', 'X-Original-URI': '/a' }, '/a'],
  ['ingress-nginx', { 'X-Merchant-Id': 'acme', 'X-Original-Method': 'GET', 'X-Original-URL': 'https://shop.example/a?b' }, '/a?b'],
  ['ingress-nginx, without a path', { 'X-Merchant-Id': 'acme', 'X-Original-Method': 'GET', 'X-Original-URL': 'https://shop.example' }, '/'],
])('%s is understood', (_proxy, headers, path) => {
  expect(read(headers)).toMatchObject({ method: 'GET', path, ip: '10.0.0.1', bodyUnknown: false });
});

test.each([
  ['an untrusted peer', PLAIN, '192.0.2.1', 'forward_auth.untrusted_peer'],
  ['no method', { ...PLAIN, 'X-Forwarded-Method': [] }, undefined, 'forward_auth.header_missing'],
  ['no path', { ...PLAIN, 'X-Forwarded-Uri': [] }, undefined, 'forward_auth.header_missing'],
  ['two paths', { ...PLAIN, 'X-Forwarded-Uri': ['/a', '/b'] }, undefined, 'forward_auth.header_repeated'],
  ['a path in each of two headers', { ...PLAIN, 'X-Original-URI': '/pay?x=1' }, undefined, 'forward_auth.header_repeated'],
  ['a method that is none', { ...PLAIN, 'X-Forwarded-Method': 'post' }, undefined, 'forward_auth.header_malformed'],
  ['a path with a space', { ...PLAIN, 'X-Forwarded-Uri': '/a b' }, undefined, 'forward_auth.header_malformed'],
  ['a path without a slash', { ...PLAIN, 'X-Forwarded-Uri': 'a' }, undefined, 'forward_auth.header_malformed'],
  ['a path that is too long', { ...PLAIN, 'X-Forwarded-Uri': `/${'a'.repeat(8_192)}` }, undefined, 'forward_auth.header_malformed'],
  ['no merchant', { ...PLAIN, 'X-Merchant-Id': [] }, undefined, 'identity.missing'],
  ['two merchants', { ...PLAIN, 'X-Merchant-Id': ['a', 'b'] }, undefined, 'identity.repeated'],
  ['a merchant that is no UTF-8', { ...PLAIN, 'X-Merchant-Id': '\u00ff' }, undefined, 'identity.malformed'],
  ['an empty merchant', { ...PLAIN, 'X-Merchant-Id': '' }, undefined, 'identity.missing'],
  ['an empty merchant beside another', { ...PLAIN, 'X-Merchant-Id': ['', 'b'] }, undefined, 'identity.repeated'],
  ['two users', { ...PLAIN, 'X-User-Id': ['a', 'b'] }, undefined, 'identity.user_repeated'],
  ['a user that is none', { ...PLAIN, 'X-User-Id': '\u0001' }, undefined, 'identity.user_malformed'],
])('%s is refused', (_what, headers, peer, code) => {
  expect(codeOf(headers, peer)).toBe(code);
});

test('names of headers that objects inherit are headers like any other', () => {
  const { headers } = read({ ...PLAIN, __proto__x: 'a', constructor: 'b' });
  expect(headers).toEqual(Object.assign(Object.create(null), { __proto__x: ['a'], constructor: ['b'] }));
});
