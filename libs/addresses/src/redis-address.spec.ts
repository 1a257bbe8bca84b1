import { describeRedis, parseRedisUrl, RedisUrlError } from './redis-address.js';

const common = { login: {}, tls: undefined, family: undefined };
const local = { host: '127.0.0.1', port: 6379 };

test.each([
  ['redis://127.0.0.1', { kind: 'single', node: local, db: 0, ...common }],
  ['redis://127.0.0.1:6379/', { kind: 'single', node: local, db: 0, ...common }],
  ['REDIS://r_1:7000/3', { kind: 'single', node: { host: 'r_1', port: 7000 }, db: 3, ...common }],
  ['redis://[::1]:7000', { kind: 'single', node: { host: '::1', port: 7000 }, db: 0, ...common }],
  ['redis://[::1]', { kind: 'single', node: { host: '::1', port: 6379 }, db: 0, ...common }],
  ['redis://:secret@127.0.0.1', { kind: 'single', node: local, db: 0, ...common, login: { password: 'secret' } }],
  ['redis://u:p%40ss:w@rd@127.0.0.1', { kind: 'single', node: local, db: 0, ...common, login: { username: 'u', password: 'p@ss:w@rd' } }],
  ['redis://u@127.0.0.1?family=6', { kind: 'single', node: local, db: 0, ...common, login: { username: 'u' }, family: 6 }],
  ['rediss://127.0.0.1', { kind: 'single', node: local, db: 0, ...common, tls: {} }],
  [
    'rediss://127.0.0.1?tlsCaFile=/etc/ca.pem&tlsCertFile=/c&tlsKeyFile=/k&tlsServerName=redis.internal',
    {
      kind: 'single',
      node: local,
      db: 0,
      ...common,
      tls: { caFile: '/etc/ca.pem', certFile: '/c', keyFile: '/k', serverName: 'redis.internal' },
    },
  ],
  [
    'redis+sentinel://u:p@s1,s2:7001,[::2]:7002/my.master-1/5?sentinelUsername=w&sentinelPassword=x%20y',
    {
      kind: 'sentinel',
      sentinels: [
        { host: 's1', port: 26_379 },
        { host: 's2', port: 7001 },
        { host: '::2', port: 7002 },
      ],
      group: 'my.master-1',
      db: 5,
      sentinelLogin: { username: 'w', password: 'x y' },
      ...common,
      login: { username: 'u', password: 'p' },
    },
  ],
  [
    'rediss+cluster://:p@c1:7001,c2',
    {
      kind: 'cluster',
      nodes: [
        { host: 'c1', port: 7001 },
        { host: 'c2', port: 6379 },
      ],
      ...common,
      login: { password: 'p' },
      tls: {},
    },
  ],
])('%s', (url, address) => expect(parseRedisUrl(url)).toEqual(address));

test.each([
  ['', 'a URL like'],
  ['http://r', 'a URL like'],
  ['redis+other://r', 'a URL like'],
  ['redis:r', 'a URL like'],
  [`redis://${'r'.repeat(9000)}`, 'a URL like'],
  ['redis://', 'a host'],
  ['redis://a b', 'a host'],
  ['redis://[::1', 'a host'],
  ['redis://r:', 'a port'],
  ['redis://r:0', 'a port'],
  ['redis://r:65536', 'a port'],
  ['redis://r1,r2', 'one host'],
  ['redis://r/x', 'a database'],
  ['redis://r/65536', 'a database'],
  ['redis://r/1/2', 'a database'],
  ['redis://:hunter2%@r', 'an escape'],
  ['redis://r?hunter2=1', 'no parameters but'],
  ['redis://r?family=5', 'family=4'],
  ['redis://r?family=4&family=6', 'family once'],
  ['rediss://r?tlsCaFile=', 'a value of tlsCaFile'],
  ['redis://r?tlsCaFile=/x', 'rediss only'],
  ['rediss://r?tlsCertFile=/x', 'together'],
  ['redis://r?sentinelPassword=hunter2', 'redis+sentinel only'],
  ['redis+sentinel://s', 'the name of the Sentinel group'],
  ['redis+sentinel://s/g/0/1', 'the name of the Sentinel group'],
  ['redis+sentinel://s/g%20', 'the name of the Sentinel group'],
  ['redis+sentinel://s,,t/g', 'a host'],
  ['redis+cluster://c/1', 'no database'],
  [`redis+cluster://${Array.from({ length: 101 }, () => 'c').join(',')}`, 'at most 100 hosts'],
])('%s is refused, and not quoted', (url, expected) => {
  const parse = () => parseRedisUrl(url);
  expect(parse).toThrow(RedisUrlError);
  expect(parse).toThrow(expected);
  expect(parse).not.toThrow('hunter2');
});

test.each([
  ['redis://u:hunter2@[::1]:7000/1', '[::1]:7000'],
  ['redis+sentinel://u:hunter2@s1,s2:7001/g?sentinelPassword=hunter2', 'the Sentinel group g of s1:26379, s2:7001'],
  ['redis+cluster://:hunter2@c1,c2', 'the cluster of c1:6379, c2:6379'],
])('%s is told without its password', (url, text) => expect(describeRedis(parseRedisUrl(url))).toBe(text));
