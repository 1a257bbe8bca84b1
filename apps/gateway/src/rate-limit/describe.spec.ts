import { createIdentifier, createTrust } from '#edge';
import { createDescribe } from './describe.js';

const identify = createIdentifier({ trusts: createTrust(['10.0.0.0/8']) });
const request = {
  method: 'POST',
  target: '/transactions?id=7',
  peer: '10.0.0.1',
  trusted: true,
  head: { merchantIds: 1, merchantId: 'acme', userIds: 0, userId: '', forwardedFor: '192.0.2.7', bodyLength: 12 },
  receivedValues: (name: string) => (name === 'idempotency-key' ? ['k-1'] : []),
  headerValues: (name: string) => (name === 'cf-ipcountry' ? ['de'] : []),
  hostName: 'api.example',
};
const options = { identify, pathCaseSensitive: true, countryHeader: '' };

test('a descriptor has the merchant, the address of the client, the method and the target of the request', () => {
  expect(createDescribe(options)(request)).toEqual({
    merchantId: 'acme',
    ip: '192.0.2.7',
    method: 'POST',
    target: '/transactions?id=7',
    ignorePathCase: false,
    more: request,
  });
});

test('a descriptor has what a credential says of the caller, and not the credential', () => {
  const apiKey = { id: '7', labels: { team: 'web' } };
  const caller = { merchantId: 'keyed', user: 'u1', apiKey, hash: Buffer.alloc(32), prefix: '5f0c2a91be04' };
  const descriptor = createDescribe(options)({ ...request, caller });
  expect(descriptor).toMatchObject({ merchantId: 'keyed', user: 'u1', apiKey, ip: '192.0.2.7' });
  expect(descriptor).not.toHaveProperty('hash');
  expect(descriptor).not.toHaveProperty('prefix');
  expect(createDescribe(options)({ ...request, caller: { ...caller, user: null } })).not.toHaveProperty('user', null);
});

test('a descriptor says that rules ignore the case of the path, if they are configured so', () => {
  expect(createDescribe({ ...options, pathCaseSensitive: false })(request)).toMatchObject({ ignorePathCase: true });
});

test('a request whose merchant is not known has no descriptor, but a problem', () => {
  const untrusted = { ...request, peer: '192.0.2.7', trusted: false };
  expect(createDescribe(options)(untrusted)).toMatchObject({ problem: 'untrusted_peer' });
});

test.each([
  ['one of a trusted peer', ['de'], 'DE'],
  ['two of them', ['DE', 'FR'], undefined],
  ['a text that is none', ['<x>'], undefined],
  ['none', [], undefined],
])('a descriptor has the country that the configured header names: %s', (_, values, country) => {
  const describe = createDescribe({ ...options, countryHeader: 'cf-ipcountry' });
  expect(describe({ ...request, headerValues: () => values })).toHaveProperty('more.country', country);
  expect(createDescribe(options)(request)).not.toHaveProperty('more.country');
});

test('a descriptor says what a retry has in common with its request, if retries are known', () => {
  expect(createDescribe({ ...options, knowsRetries: true })(request)).toHaveProperty('retryKey', 'POST /transactions?id=7 12 k-1');
  expect(createDescribe(options)(request)).toHaveProperty('retryKey', undefined);
});

test.each([
  ['of nobody who says it', true, [], 'country of 192.0.2.7'],
  ['of a trusted peer that says it', true, ['de'], 'DE'],
  ['of a trusted peer that says two', true, ['DE', 'FR'], 'country of 192.0.2.7'],
  ['of a peer that is not trusted', false, ['de'], 'country of 192.0.2.9'],
])('a descriptor has the country of the client’s address where the header does not say it: %s', (_, trusted, values, country) => {
  const describe = createDescribe({ ...options, countryHeader: 'cf-ipcountry', countryOf: (address) => `country of ${address}` });
  const caller = trusted ? null : { merchantId: 'keyed', user: null };
  const peer = trusted ? '10.0.0.1' : '192.0.2.9';
  expect(describe({ ...request, peer, trusted, caller, headerValues: () => values })).toHaveProperty('more.country', country);
});

test('a descriptor has the user that a trusted peer names, or that a credential names instead', () => {
  const head = { ...request.head, userIds: 1, userId: 'ann' };
  expect(createDescribe(options)({ ...request, head })).toHaveProperty('user', 'ann');
  const caller = { merchantId: 'keyed', user: null };
  expect(createDescribe(options)({ ...request, head, caller })).toHaveProperty('user', undefined);
});
