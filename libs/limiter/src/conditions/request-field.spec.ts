import * as fc from 'fast-check';
import type { Descriptor } from '../matching/descriptor.js';
import { AskedFields, isFieldName, requestField } from './request-field.js';

function described(
  changes: Partial<Descriptor> = {},
  headers: Readonly<Record<string, readonly string[]>> = {},
  host?: string,
): AskedFields {
  const more = { headerValues: (name: string) => headers[name] ?? [], hostName: host };
  return new AskedFields({ merchantId: 'acme', ip: '2001:db8:1:2:3::4', method: 'POST', target: '/', more, ...changes });
}
const read = (request: AskedFields, field: string) => request.valueOf(requestField(field));

test.each([
  ['a=1&b=2', 'a', '1'],
  ['a=1&a=2', 'a', ['1', '2']],
  ['a', 'a', ''],
  ['a=', 'a', ''],
  ['b=1', 'a', undefined],
  ['', 'a', undefined],
  ['%61=1', 'a', '1'],
  ['a=x+y%20z', 'a', 'x y z'],
  ['a=1;b=2', 'a', '1;b=2'],
  ['a=1;b=2', 'b', undefined],
  ['a=%ff', 'a', '\ufffd'],
  ['a=%', 'a', '%'],
  ['a=1?a=2', 'a', '1?a=2'],
  ['__proto__=1', '__proto__', '1'],
  ['A=1', 'a', undefined],
  ['a[]=1', 'a', undefined],
])('of the query %s, %s is %j', (query, name, value) => {
  expect(read(described({ target: `/x?${query}` }), `query.${name}`)).toEqual(value);
});

test.each([
  [['a=1; b=2'], 'b', '2'],
  [['a=1;b=2'], 'b', '2'],
  [['a=1', 'a=2'], 'a', ['1', '2']],
  [['a="1"'], 'a', '"1"'],
  [['a=%31'], 'a', '%31'],
  [['a=b=c'], 'a', 'b=c'],
  [['a'], 'a', ''],
  [['a=1, b=2'], 'b', undefined],
  [['A=1'], 'a', undefined],
  [[' ;;=x; ='], 'a', undefined],
  [[], 'a', undefined],
])('of the cookies %j, %s is %j', (cookie, name, value) => {
  expect(read(described({}, { cookie }), `cookie.${name}`)).toEqual(value);
});

test.each([
  ['API.example:8080', 'api.example'],
  ['api.example.', 'api.example'],
  ['[2001:DB8::1]:443', '[2001:db8::1]'],
  ['[2001:DB8::1]', '[2001:db8::1]'],
  ['', undefined],
  [undefined, undefined],
])('the host %s is %s', (written, host) => expect(read(described({}, {}, written), 'host')).toBe(host));

test('the names of headers have no case, and a header that comes twice has both values', () => {
  const request = described({}, { 'x-channel': ['web', 'app'], 'x-empty': [''] });
  expect(read(request, 'header.X-Channel')).toEqual(['web', 'app']);
  expect(read(request, 'header.x-empty')).toBe('');
  expect(read(request, 'header.x-other')).toBeUndefined();
});

test.each([
  ['sub', 'alice'],
  ['realm_access.roles', ['a', 'b']],
  ['https://x.example/org', '7'],
  ['https://x.example/org.', undefined],
  ['limit', '7'],
  ['email_verified', 'true'],
  ['one', 'x'],
  ['mixed', ['x', '1']],
  ['none', undefined],
  ['empty', undefined],
  ['realm_access', undefined],
  ['sub.length', undefined],
  ['constructor', undefined],
  ['__proto__', undefined],
  ['realm_access.constructor.name', undefined],
])('of the claims of a token, %s is %j', (name, value) => {
  const jwt = JSON.stringify({
    sub: 'alice',
    realm_access: { roles: ['a', 'b'] },
    'https://x.example/org': '7',
    limit: 7,
    email_verified: true,
    one: ['x'],
    mixed: ['x', { y: 1 }, 1, null],
    none: null,
    empty: [],
  });
  expect(isFieldName(`jwt.${name}`)).toBe(true);
  expect(read(described({ jwt }), `jwt.${name}`)).toEqual(value);
  expect(read(described(), `jwt.${name}`)).toBeUndefined();
});

test.each(['', 'no JSON', '[]', 'null', '7'])('claims that are %j are absent', (jwt) => {
  expect(read(described({ jwt }), 'jwt.sub')).toBeUndefined();
});

test('plain fields are those of the descriptor, and what a door does not know is absent', () => {
  const request = described({ user: 'u-1', apiKey: { id: '7', labels: { team: 'risk' } }, target: '/a%20b//c/?q=1' });
  const values = [
    'merchant',
    'user',
    'apiKey',
    'apiKey.label.team',
    'apiKey.label.other',
    'ip',
    'ip.prefix',
    'method',
    'path',
    'country',
  ].map((name) => read(request, name));
  expect(values).toEqual(['acme', 'u-1', '7', 'risk', undefined, '2001:db8:1:2:3::4', '2001:db8:1:2::/64', 'POST', '/a b/c', undefined]);
  const bare = new AskedFields({ merchantId: 'acme', ip: '', method: 'GET', target: '/' });
  for (const name of ['user', 'apiKey', 'apiKey.label.x', 'country', 'host', 'header.x', 'cookie.x', 'query.x'])
    expect(read(bare, name)).toBeUndefined();
});

test.each([
  'ip.prefixes',
  'header.',
  'header.a b',
  'header.host',
  'header.HOST',
  'query.',
  'query.a\n',
  `cookie.${'x'.repeat(65)}`,
  'cookie.a=b',
  'apiKey.label.Team',
  'jwt.',
  'jwt.a b',
  `jwt.${'x'.repeat(65)}`,
  'constructor',
  '__proto__',
  'Merchant',
  '',
])('%j is no field', (name) => expect(isFieldName(name)).toBe(false));

test('whatever bytes a client sends, every field is read, and the same each time', () => {
  const odd = fc.string({
    unit: fc.constantFrom('=', ';', '&', '%', '+', '"', ' ', '\u0000', 'é', '\ud800', 'a', ',', '%ff', '?'),
    maxLength: 40,
  });
  fc.assert(
    fc.property(odd, odd, odd, (query, cookie, name) => {
      const request = () => described({ target: `/?${query}` }, { cookie: [cookie] });
      for (const field of [`query.${name}`, `cookie.${name}`, 'path'].filter(isFieldName))
        expect(read(request(), field)).toEqual(read(request(), field));
    }),
  );
});
