import { keyPartOf, objectFaults } from '#limiter';
import { auditedParts, KEY_PARTS, KEY_PARTS_TEXT, KeyValues, writtenParts } from './key-values.js';

const faultsOf = (key: unknown) =>
  objectFaults({ key }, { key: KEY_PARTS }, { pointer: '', code: 'bucket' }).map(({ pointer, code }) => [pointer, code]);

describe('the parts of a key as an operator names them', () => {
  it('are names of fields with texts, or null', () => {
    const key = {
      'header.x-device-id': 'abc',
      user: null,
      'query.a/b': '',
      ip: '2001:DB8::7',
      'ip.prefix': '2001:db8::/64',
      method: 'POST',
      'body.amount': 12.5,
      'body.card.3ds': false,
      'body.items.sku': ['a', 7],
      'jwt.roles': ['admin', 'ops'],
    };
    expect([faultsOf({}), faultsOf(key)]).toEqual([[], []]);
  });

  it.each<[unknown, string, string]>([
    ['abc', '/key', 'bucket.key.wrong_type'],
    [['a'], '/key', 'bucket.key.wrong_type'],
    [{ city: 'x' }, '/key/city', 'bucket.key.malformed'],
    [{ merchant: 'acme' }, '/key/merchant', 'bucket.key.not_applicable'],
    [{ 'header.A': 'x', 'header.a': 'y' }, '/key/header.a', 'bucket.key.repeated'],
    [{ 'query.a/b': 7 }, '/key/query.a~1b', 'bucket.key.malformed'],
    [{ user: 'x'.repeat(8_193) }, '/key/user', 'bucket.key.malformed'],
    [{ user: '\ud800' }, '/key/user', 'bucket.key.malformed'],
    [{ ip: 'localhost' }, '/key/ip', 'bucket.key.malformed'],
    [{ ip: null }, '/key/ip', 'bucket.key.malformed'],
    [{ method: 'post' }, '/key/method', 'bucket.key.malformed'],
    [{ 'header.x': ['a'] }, '/key/header.x', 'bucket.key.malformed'],
    [{ 'jwt.tier': 7 }, '/key/jwt.tier', 'bucket.key.malformed'],
    [{ 'body.amount': {} }, '/key/body.amount', 'bucket.key.malformed'],
    [{ 'body.amount': 12345678901234567000 }, '/key/body.amount', 'bucket.key.malformed'],
    [{ 'body.amount': [['a']] }, '/key/body.amount', 'bucket.key.malformed'],
    [{ 'body.amount': Array.from({ length: 101 }, () => 'a') }, '/key/body.amount', 'bucket.key.malformed'],
    [Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`header.x-${i}`, ''])), '/key', 'bucket.key.wrong_length'],
  ])('%j has a fault at %s', (key, pointer, code) => expect(faultsOf(key)).toEqual([[pointer, code]]));

  it.each(['', 'abc', '[]', '{"city":"x"}', `{"user":"${'x'.repeat(8_192)}"}`])('are a JSON object in a query, which %s is not', (text) =>
    expect(KEY_PARTS_TEXT.fault(text)).toMatch(/^must be a JSON object/),
  );

  it('are read from a query', () => {
    const text = '{"header.x":"a","user":null}';
    expect([KEY_PARTS_TEXT.fault(text), writtenParts(text)]).toEqual([undefined, { 'header.x': 'a', user: null }]);
  });

  it('are enough if each is told, absence included', () => {
    const values = new KeyValues({ ip: '2001:DB8:0::7', key: { 'header.X': 'a', user: null } });
    expect(['merchant', 'ip', 'ip.prefix', 'header.x', 'user', 'method', 'header.y'].filter((part) => values.has(part))).toEqual([
      'merchant',
      'ip',
      'ip.prefix',
      'header.x',
      'user',
    ]);
    expect(values.request('acme', ['ip', 'header.x', 'user'])).toMatchObject({ ip: '2001:db8::7', user: undefined });
  });

  it('name what is in a body and in a token', () => {
    const values = new KeyValues({ key: { 'body.amount': 17, 'jwt.tenant': 'a', 'body.card': null } });
    const request = values.request('acme', ['merchant', 'body.amount', 'jwt.tenant', 'body.card']);
    expect(request && ['body.amount', 'jwt.tenant', 'body.card'].map((part) => keyPartOf(request, part))).toEqual(['17', 'a', undefined]);
  });

  it('name no request if no request has such a value', () => {
    const values = new KeyValues({ key: { host: '' } });
    expect([values.has('host'), values.request('acme', ['merchant']), values.request('acme', ['host'])]).toMatchObject([
      true,
      {},
      undefined,
    ]);
  });

  it('stand in the audit without what may be secret', () => {
    const audited = auditedParts({ 'header.authorization': 'Bearer x', user: 'u-17', 'cookie.a': null, 'body.amount': 17 });
    expect(audited['body.amount']).toMatch(/^digest:[\w-]{24}$/);
    expect(audited).toMatchObject({ 'header.authorization': expect.stringMatching(/^digest:[\w-]{24}$/), user: 'u-17', 'cookie.a': null });
  });
});
