import { describedRequest } from './described-request.js';

const described = (entries: Record<string, string>) =>
  describedRequest(
    'shop',
    Object.entries(entries).map(([key, value]) => ({ key, value })),
  );

describe('a descriptor', () => {
  it.each([
    [{ merchant: 'acme' }, { merchant: 'acme' }],
    [{ user: 'ann' }, { merchant: 'shop', user: 'ann' }],
    [{ remote_address: '192.0.2.7' }, { merchant: 'shop', ip: '192.0.2.7' }],
    [{ path: '/a b?x=é' }, { merchant: 'shop', path: '/a%20b?x=%C3%A9' }],
    [
      { method: 'POST', host: 'a.example', country: 'DE' },
      { merchant: 'shop', method: 'POST', host: 'a.example', country: 'DE' },
    ],
  ])('%j is the request %j', (entries, request) => {
    const { headers, ...fields } = described(entries);
    expect(fields).toEqual(request);
    expect(Object.keys(headers)).toEqual(['x-tollgate-descriptor']);
  });

  it('has headers for all other keys, in small letters, several values for a key that comes twice, and none for a key that no header can have', () => {
    const entries = [
      ['Generic_Key', 'a'],
      ['header.X-Channel', 'web'],
      ['x-channel', 'app'],
      ['a b', 'c'],
      ['__proto__', 'd'],
    ].map(([key = '', value = '']) => ({ key, value }));
    expect(Object.entries(describedRequest('shop', entries).headers)).toEqual([
      ['generic_key', 'a'],
      ['x-channel', ['web', 'app']],
      ['__proto__', 'd'],
      ['x-tollgate-descriptor', 'shop/Generic_Key/header.X-Channel/x-channel/a%20b/__proto__?a/web/app/c/d'],
    ]);
  });

  it.each([
    { remote_address: 'nowhere' },
    { user: '' },
    { user: 'a\nb' },
    { method: 'post' },
    { country: 'Germany' },
    { path: 'a' },
    { host: '' },
  ])('%j leaves the field out that cannot have the value', (entries) => {
    expect(Object.keys(described(entries))).toEqual(['merchant', 'headers']);
  });

  it('cannot say what only the door says', () => {
    const { headers } = described({ 'x-tollgate-descriptor': 'x', 'header.X-Tollgate-Beside': 'y', k: 'v' });
    expect(headers).toEqual({ k: 'v', 'x-tollgate-descriptor': 'shop/x-tollgate-descriptor/header.X-Tollgate-Beside/k?x/y/v' });
    expect(describedRequest('shop', [], ['shop/a?1', 'shop/b?2']).headers['x-tollgate-beside']).toEqual(['shop/a?1', 'shop/b?2']);
  });
});
