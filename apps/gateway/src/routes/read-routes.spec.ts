import { readRoutes, type RouteDefaults, RoutesError } from './read-routes.js';

const DEFAULTS: RouteDefaults = {
  connections: 11,
  queueTimeoutMs: 12,
  headersTimeoutMs: 13_000,
  bodyIdleTimeoutMs: 14_000,
  exchangeTimeoutMs: 15_000,
  ownHeaders: ['x-api-key'],
};

const SMALL = `version: 1
upstreams:
  - name: payments
    addresses: [http://10.0.0.7:9090, "https://b.test"]
routes:
  - name: all
    upstream: payments
`;

function faultsOf(text: string): readonly string[] {
  try {
    readRoutes(text, DEFAULTS);
  } catch (error) {
    if (error instanceof RoutesError) return error.faults;
    throw error;
  }
  return [];
}

it('addresses of h2c are those of servers that are spoken to by HTTP/2', () => {
  const [upstream] = readRoutes(
    SMALL.replace('http://10.0.0.7:9090, "https://b.test"', 'h2c://10.0.0.7:9090, "h2c://[::1]"'),
    DEFAULTS,
  ).upstreams;
  expect(upstream).toMatchObject({ http2: true, addresses: [new URL('http://10.0.0.7:9090'), new URL('http://[::1]')] });
});

it('a small file has the defaults of the configuration, and those of the table', () => {
  const { upstreams, routes } = readRoutes(SMALL, DEFAULTS);
  expect(upstreams).toEqual([
    {
      name: 'payments',
      addresses: [new URL('http://10.0.0.7:9090'), new URL('https://b.test')],
      http2: false,
      balance: 'least_requests',
      host: 'original',
      connections: 11,
      queueTimeoutMs: 12,
      connectTimeoutMs: 2_000,
      headersTimeoutMs: 13_000,
      bodyIdleTimeoutMs: 14_000,
      passiveHealth: { failures: 5, ejectMs: 1_000, maxEjectMs: 60_000 },
      activeHealth: null,
    },
  ]);
  const nothing = { set: {}, remove: [] };
  expect(routes).toEqual([
    {
      name: 'all',
      upstream: 'payments',
      hosts: [],
      paths: [],
      lane: false,
      pathExceptions: [],
      exchangeTimeoutMs: 15_000,
      requestHeaders: nothing,
      responseHeaders: nothing,
    },
  ]);
});

it('a routes file is read as it is written', () => {
  const text = SMALL.replace(
    '    addresses',
    '    connections: 3\n    passiveHealth: null\n    activeHealth: { path: /up }\n    addresses',
  ).replace(
    '    upstream: payments',
    '    upstream: payments\n    maxBodyBytes: 0\n    requestHeaders: { set: { X-Via: tollgate }, remove: [Cookie] }',
  );
  const { upstreams, routes } = readRoutes(text, DEFAULTS);
  expect(upstreams[0]).toMatchObject({
    connections: 3,
    passiveHealth: null,
    activeHealth: { path: '/up', intervalMs: 5_000, timeoutMs: 1_000, failures: 3, passes: 2 },
  });
  expect(routes[0]).toMatchObject({ maxBodyBytes: 0, requestHeaders: { set: { 'X-Via': 'tollgate' }, remove: ['Cookie'] } });
});

/** The small file with something in place of a line, or after it. */
const changed = (line: string, by: string): string => SMALL.replace(line, by);

describe('a fault is told with its line and its field', () => {
  it.each<[string, string, RegExp[]]>([
    ['nothing', '', [/^line 1: must be an object with version/]],
    ['a text', 'routes', [/^line 1: must be an object/]],
    ['broken YAML', 'version: 1\nupstreams: "x\nroutes: []', [/^line 3: Missing closing/]],
    ['a key twice', `${SMALL}version: 1\n`, [/^line 8: Map keys must be unique/]],
    ['another version', changed('version: 1', 'version: 2'), [/^line 1: \/version must be a whole number from 1 to 1, got 2$/]],
    [
      'a misspelt field',
      changed('    addresses', '    balanc: round_robin\n    addresses'),
      [/^line 4: \/upstreams\/0\/balanc .*did you mean "balance"/],
    ],
    ['a missing field', changed('    upstream: payments\n', ''), [/^line 6: \/routes\/0\/upstream .*got nothing$/]],
    ['an address with a path', changed('"https://b.test"', 'https://b.test/x'), [/^line 4: \/upstreams\/0\/addresses\/1 must be an http/]],
    ['an address that is no URL', changed('"https://b.test"', 'b.test:80'), [/^line 4: \/upstreams\/0\/addresses\/1 must be an http/]],
    [
      'an address of h2c with a path',
      changed('"https://b.test"', 'h2c://b.test/x'),
      [/^line 4: \/upstreams\/0\/addresses\/1 must be an http/],
    ],
    [
      'HTTP/2 for one address only',
      changed('"https://b.test"', 'h2c://b.test'),
      [/^line 4: \/upstreams\/0\/addresses\/1 must be h2c as well/],
    ],
    ['an address twice', changed('"https://b.test"', 'http://10.0.0.7:9090/'), [/^line 4: \/upstreams\/0\/addresses\/1 must not repeat/]],
    [
      'an unknown upstream',
      changed('upstream: payments', 'upstream: refunds'),
      [/^line 7: \/routes\/0\/upstream must be an upstream of the file, got "refunds"$/],
    ],
    ['the name default', changed('name: all', 'name: default'), [/^line 6: \/routes\/0\/name must not be default/]],
    ['a name twice', `${SMALL}  - { name: all, upstream: payments, lane: true }\n`, [/^line 8: \/routes\/1\/name must differ/]],
    [
      'a route that is never reached',
      `${SMALL}  - { name: b, upstream: payments }\n`,
      [/^line 8: \/routes\/1 gets no request: route all before it/],
    ],
    [
      'a lane with paths',
      `${SMALL}  - { name: b, upstream: payments, lane: true, paths: [/x] }\n`,
      [/^line 8: \/routes\/1\/hosts and paths do not go with a lane/],
    ],
    [
      'a host with a port',
      changed('name: all', 'name: all\n    hosts: ["x:80"]'),
      [/^line 7: \/routes\/0\/hosts\/0 must be the name of a host/],
    ],
    ['a bad pattern', changed('name: all', 'name: all\n    paths: [x]'), [/^line 7: \/routes\/0\/paths\/0 must start with/]],
    [
      'an exception for any path',
      changed('name: all', 'name: all\n    paths: ["/*/x"]\n    pathExceptions: [encoded-slashes]'),
      [/^line 7: \/routes\/0\/paths must each begin with a segment without wildcard/],
    ],
    [
      'an ejection that ends before it begins',
      changed('    addresses', '    passiveHealth: { ejectMs: 5000, maxEjectMs: 1000 }\n    addresses'),
      [/^line 4: \/upstreams\/0\/passiveHealth\/maxEjectMs must not be less than ejectMs/],
    ],
    [
      'two things',
      changed('version: 1', 'version: 0').replace('upstream: payments', 'upstream: 7'),
      [/^line 1: \/version/, /^line 7: \/routes\/0\/upstream/],
    ],
  ])('%s', (_what, text, expected) => {
    const faults = faultsOf(text);
    expect(faults).toHaveLength(expected.length);
    expected.forEach((each, i) => expect(faults[i]).toMatch(each));
  });

  it.each([
    'Host',
    'X-Merchant-Id',
    'x-user-id',
    'X-Forwarded-For',
    'Authorization',
    'Content-Length',
    'Transfer-Encoding',
    'Connection',
    'X-Request-Id',
    'RateLimit',
    'Retry-After',
    'traceparent',
    'X_Merchant_Id',
    'X-Api-Key',
  ])('no route may set or remove %s', (name) => {
    for (const rewrite of [`set: { ${name}: v }`, `remove: [${name}]`]) {
      for (const field of ['requestHeaders', 'responseHeaders']) {
        expect(faultsOf(changed('name: all', `name: all\n    ${field}: { ${rewrite} }`))).toHaveLength(1);
      }
    }
  });

  it('without secrets: values of headers and credentials in addresses are not told', () => {
    const header = faultsOf(changed('name: all', 'name: all\n    requestHeaders: { set: { X-Key: "hunter2 " } }'));
    const address = faultsOf(changed('"https://b.test"', 'https://me:hunter2@b.test'));
    expect([header.length, address.length]).toEqual([1, 1]);
    expect([...header, ...address].join()).not.toContain('hunter2');
  });

  it('for the first twenty, of a file that is not too long', () => {
    const names = Array.from({ length: 30 }, (_, i) => `  - { name: A${i}, upstream: payments, lane: true }`).join('\n');
    const faults = faultsOf(`${SMALL}${names}\n`);
    expect(faults).toHaveLength(21);
    expect(faults[20]).toBe('and 10 more');
    expect(faultsOf(`${SMALL}#${'x'.repeat(300_000)}`)[0]).toMatch(/^the file is longer/);
  });

  it('aliases that blow up are refused', () => {
    const bomb = [
      'a: &a [x, x, x, x, x, x, x, x, x, x]',
      ...'bcdefg'.split('').map((name, i) => `${name}: &${name} [${Array(10).fill(`*${'abcdefg'[i]!}`).join(', ')}]`),
    ];
    expect(faultsOf(bomb.join('\n'))[0]).toMatch(/aliases/);
  });
});
