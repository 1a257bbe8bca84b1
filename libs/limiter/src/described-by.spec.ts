import { bucketKey, keyPartOf } from './bucket-key.js';
import { describedBy } from './described-by.js';
import type { Descriptor } from './descriptor.js';

const REQUEST: Descriptor = {
  merchantId: 'acme',
  ip: '2001:db8::7',
  method: 'POST',
  target: '/transactions/17%3F%20x?amount=1%2B1&empty=',
  user: 'u-17',
  apiKey: { id: '5', labels: { region: 'eu' } },
  more: {
    headerValues: (name) => (name === 'cookie' ? ['a=1; session=x=y'] : name === 'x-device-id' ? ['ab c'] : name === 'x-empty' ? [''] : []),
    hostName: 'API.example.:8080',
    country: 'DE',
  },
};

const ROWS: [part: string, value: string][] = [
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
];

describe('a request that is described by its fields', () => {
  it.each(ROWS)('has the bucket of the request whose %s is %s', (part, value) => {
    const rule = { id: '17', key: ['merchant', part] };
    expect(bucketKey(rule, 0, describedBy('acme', { [part]: value }))).toBe(bucketKey(rule, 0, REQUEST));
  });

  it('has the bucket of the request if all fields are named at once', () => {
    const parts = Object.fromEntries(ROWS.filter(([part]) => part !== 'ip.prefix'));
    const rule = { id: '17', key: ['merchant', 'ip.prefix', ...Object.keys(parts)] };
    expect(bucketKey(rule, 0, describedBy('acme', parts))).toBe(bucketKey(rule, 0, REQUEST));
  });

  it.each(ROWS.map(([part]) => part).filter((part) => part !== 'ip' && part !== 'ip.prefix' && part !== 'method' && part !== 'path'))(
    'has no %s if that is not named',
    (part) => expect(keyPartOf(describedBy('acme', {}), part)).toBeUndefined(),
  );
});
