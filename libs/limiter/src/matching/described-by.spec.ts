import { readBody } from '../body/json-body.js';
import { bucketKey, keyPartOf } from '../buckets/bucket-key.js';
import { describedBy, type NamedValue } from './described-by.js';
import type { Descriptor } from './descriptor.js';

const REQUEST: Descriptor = {
  merchantId: 'acme',
  ip: '2001:db8::7',
  method: 'POST',
  target: '/transactions/17%3F%20x?amount=1%2B1&empty=',
  user: 'u-17',
  apiKey: { id: '5', labels: { region: 'eu' } },
  jwt: JSON.stringify({ tenant: 'a:b', tier: 7, realm: { roles: ['admin', 'ops'] }, 'org.unit': 'west' }),
  more: {
    headerValues: (name) => (name === 'cookie' ? ['a=1; session=x=y'] : name === 'x-device-id' ? ['ab c'] : name === 'x-empty' ? [''] : []),
    hostName: 'API.example.:8080',
    country: 'DE',
    body: readBody(
      Buffer.from(
        '{"card":{"bin":"411111","3ds":true},"amount":12.50,"big":1e21,"text":"12.5","items":[{"sku":"a"},{"sku":7}],"one":["x"],"none":[]}',
      ),
    ),
  },
};

const ROWS: [part: string, value: NamedValue][] = [
  ['ip', '2001:db8::7'],
  ['ip.prefix', '2001:db8::7'],
  ['ip.prefix', '2001:db8::/64'],
  ['ip.prefix', '2001:db8:0:0::/64'],
  ['method', 'POST'],
  ['path', '/transactions/17? x'],
  ['host', 'api.example'],
  ['user', 'u-17'],
  ['apiKey', '5'],
  ['apiKey.label.region', 'eu'],
  ['country', 'DE'],
  ['header.X-Device-Id', 'ab c'],
  ['header.x-empty', ''],
  ['header.cookie', 'a=1; session=x=y'],
  ['cookie.session', 'x=y'],
  ['query.amount', '1+1'],
  ['query.empty', ''],
  ['jwt.tenant', 'a:b'],
  ['jwt.tier', '7'],
  ['jwt.org.unit', 'west'],
  ['jwt.realm.roles', ['admin', 'ops']],
  ['body.card.bin', '411111'],
  ['body.card.3ds', true],
  ['body.amount', 12.5],
  ['body.big', 1e21],
  ['body.text', '12.5'],
  ['body.items.sku', ['a', 7]],
  ['body.one', ['x']],
  ['body.one', 'x'],
  ['body.none', []],
];

describe('a request that is described by its fields', () => {
  it.each(ROWS)('has the bucket of the request whose %s is %j', (part, value) => {
    const rule = { id: '17', key: ['merchant', part] };
    expect(bucketKey(rule, 0, describedBy('acme', { [part]: value }))).toBe(bucketKey(rule, 0, REQUEST));
  });

  it('has the bucket of the request if all fields are named at once', () => {
    const parts = Object.fromEntries(ROWS.filter(([part]) => part !== 'ip.prefix'));
    const rule = { id: '17', key: ['merchant', 'ip.prefix', ...Object.keys(parts)] };
    expect(bucketKey(rule, 0, describedBy('acme', parts))).toBe(bucketKey(rule, 0, REQUEST));
  });

  it.each<[string, NamedValue]>([
    ['body.amount', '12.5'],
    ['body.text', 12.5],
    ['body.card.3ds', 'true'],
    ['body.items.sku', ['a', '7']],
    ['body.items.sku', [7, 'a']],
    ['jwt.realm.roles', 'admin'],
  ])('has another bucket than the request whose %s looks like %j', (part, value) => {
    const rule = { id: '17', key: ['merchant', part] };
    expect(bucketKey(rule, 0, describedBy('acme', { [part]: value }))).not.toBe(bucketKey(rule, 0, REQUEST));
  });

  it.each(ROWS.map(([part]) => part).filter((part) => part !== 'ip' && part !== 'ip.prefix' && part !== 'method' && part !== 'path'))(
    'has no %s if that is not named',
    (part) => expect(keyPartOf(describedBy('acme', {}), part)).toBeUndefined(),
  );
});
