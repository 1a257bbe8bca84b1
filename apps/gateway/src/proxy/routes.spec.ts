import { createRouteTable, type RouteOptions } from './routes.js';
import type { UpstreamOptions } from './upstream/upstream.js';
import { Upstreams } from './upstream/upstreams.js';

const upstreamNamed = (name: string): UpstreamOptions => ({
  name,
  addresses: [new URL('http://127.0.0.1:9')],
  balance: 'least_requests',
  host: 'original',
  connections: 4,
  queueTimeoutMs: 10,
  connectTimeoutMs: 10,
  headersTimeoutMs: 10,
  bodyIdleTimeoutMs: 10,
  passiveHealth: null,
  activeHealth: null,
});

const route = (name: string, changes: Partial<RouteOptions> = {}): RouteOptions => ({
  name,
  upstream: 'one',
  hosts: [],
  paths: [],
  lane: false,
  pathExceptions: [],
  exchangeTimeoutMs: 1_000,
  requestHeaders: { set: {}, remove: [] },
  responseHeaders: { set: {}, remove: [] },
  ...changes,
});

const started: Upstreams[] = [];
afterEach(() => Promise.all(started.splice(0).map((each) => each.destroy())));

function newUpstreams(): Upstreams {
  const upstreams = new Upstreams({ merchantShare: 0.5, fastLane: false, logger: { warn() {}, error() {} }, onConnected() {} });
  started.push(upstreams);
  return upstreams;
}

type Policy = Parameters<typeof createRouteTable>[1];

function table(routes: readonly RouteOptions[], settings: Partial<Policy> = {}) {
  const policy: Policy = { pathPolicy: 'strict', pathPolicyExceptions: [], pathCaseSensitive: true, ...settings };
  return createRouteTable({ upstreams: [upstreamNamed('one')], routes }, policy, newUpstreams());
}

const taken = (routes: ReturnType<typeof table>, target: string, host = 'x'): string | undefined => routes.routeFor(target, host)?.name;

describe('the route of a request', () => {
  const routes = table([
    route('lane', { lane: true }),
    route('exact', { hosts: ['api.example.com'], paths: ['/v1/**'] }),
    route('below', { hosts: ['*.example.com'] }),
    route('paths', { paths: ['/transactions/*', '/refunds/**'] }),
  ]);

  it.each([
    ['api.example.com', '/v1/x', 'exact'],
    ['API.Example.com:8080', '/v1', 'exact'],
    ['api.example.com.', '/v1?q=/other', 'exact'],
    ['api.example.com', '/v2', 'below'],
    ['a.b.example.com', '/anything', 'below'],
    ['example.com', '/anything', undefined],
    ['notexample.com', '/anything', undefined],
    ['.example.com', '/anything', undefined],
    ['example.com.evil.org', '/v1', undefined],
    ['', '/transactions/1', 'paths'],
    ['[::1]:80', '/transactions/1', 'paths'],
    ['x', '/transactions/1/2', undefined],
    ['x', '/Transactions/1', undefined],
    ['x', '/refunds', 'paths'],
    ['x', '/transactions/%C3%A4', 'paths'],
  ])('of %j for %s is %s', (host, target, expected) => {
    expect(taken(routes, target, host)).toBe(expected);
  });

  it('is the first that fits, and a lane is none', () => {
    expect(taken(table([route('a', { paths: ['/x/**'] }), route('b', { paths: ['/x/y'] })]), '/x/y')).toBe('a');
    expect(taken(table([route('lane', { lane: true })]), '/x')).toBeUndefined();
    expect(routes.named('lane')).toMatchObject({ name: 'lane' });
    expect(routes.named('nowhere')).toBeUndefined();
  });

  it('does not distinguish cases where rules do not', () => {
    const lenient = table([route('a', { paths: ['/Payments/**'] }), route('rest')], { pathCaseSensitive: false });
    expect([taken(lenient, '/PAYMENTS/1'), taken(lenient, '/other')]).toEqual(['a', 'rest']);
  });
});

describe('an exception from the path policy', () => {
  const objects = route('objects', { hosts: ['store'], paths: ['/objects/**'], pathExceptions: ['encoded-slashes'] });

  it('counts for requests of its route alone', () => {
    const routes = table([objects, route('rest')]);
    expect(routes.readPath('/objects/a%2Fb', 'store')).toBe('/objects/a%2Fb');
    expect(taken(routes, '/objects/a%2Fb', 'store')).toBe('objects');
    for (const [target, host] of [
      ['/objects/a%2Fb', 'other'],
      ['/elsewhere/a%2Fb', 'store'],
      ['/objects/a;b', 'store'],
    ] as const) {
      expect(routes.readPath(target, host)).toMatchObject({ status: 400 });
    }
  });

  it('does not count where another route takes the request first', () => {
    const routes = table([route('first', { paths: ['/objects/*'] }), objects]);
    expect(routes.readPath('/objects/a%2Fb', 'store')).toMatchObject({ status: 400 });
    expect(routes.readPath('/objects/x/a%2Fb', 'store')).toBe('/objects/x/a%2Fb');
  });

  it('keeps what the policy would rewrite', () => {
    const routes = table([objects, route('rest')], { pathPolicy: 'normalize' });
    expect(routes.readPath('/objects/a%2Fb/./c', 'store')).toBe('/objects/a%2Fb/c');
    expect(routes.readPath('/objects/a%2Fb/./c', 'other')).toBe('/objects/a/b/c');
  });
});

describe('upstreams under other routes', () => {
  const settings: Policy = { pathPolicy: 'strict', pathPolicyExceptions: [], pathCaseSensitive: true };

  it('stay if they are as they were; others end when nothing needs them any more', () => {
    const upstreams = newUpstreams();
    const [same, changed, gone] = upstreams.replace(['same', 'changed', 'gone'].map(upstreamNamed));
    changed!.users++;
    changed!.counts.answered = 7;
    const next = upstreams.replace([upstreamNamed('same'), { ...upstreamNamed('changed'), connections: 5 }]);
    expect(next[0]).toBe(same);
    expect(next[1]).not.toBe(changed);
    expect(next[1]!.counts.answered).toBe(7);
    const destroyed: string[] = [];
    for (const each of [same!, changed!, gone!]) each.destroy = () => Promise.resolve(void destroyed.push(each.name));
    upstreams.tick(0);
    expect(destroyed).toEqual(['gone']);
    changed!.users--;
    upstreams.tick(1);
    expect(destroyed).toEqual(['gone', 'changed']);
  });

  it('are those of the routes that a request found when it began', () => {
    const upstreams = newUpstreams();
    const before = createRouteTable({ upstreams: [upstreamNamed('one')], routes: [route('a')] }, settings, upstreams);
    const [old] = upstreams.all;
    createRouteTable({ upstreams: [upstreamNamed('two')], routes: [route('a', { upstream: 'two' })] }, settings, upstreams);
    expect(before.routeFor('/', 'x')!.upstream).toBe(old);
    expect(upstreams.all.map(({ name }) => name)).toEqual(['two']);
  });
});

describe('the address of a request', () => {
  const several = (balance: 'least_requests' | 'round_robin') => {
    const addresses = ['http://a.test', 'http://b.test', 'http://c.test'].map((url) => new URL(url));
    const passiveHealth = { failures: 1, ejectMs: 1_000, maxEjectMs: 1_000 };
    return newUpstreams().replace([{ ...upstreamNamed('x'), balance, addresses, passiveHealth }])[0]!;
  };
  const hosts = (upstream: ReturnType<typeof several>, times: number, nowMs = 0): string =>
    Array.from({ length: times }, () => upstream.choose(nowMs, [])!.url.hostname[0]).join('');

  it('is the next one, in turn', () => {
    expect(hosts(several('round_robin'), 7)).toBe('abcabca');
  });

  it('is the one with the fewest requests, and goes round between equals', () => {
    const upstream = several('least_requests');
    expect(new Set(hosts(upstream, 3)).size).toBe(3);
    upstream.addresses[0]!.inFlight = 2;
    upstream.addresses[2]!.inFlight = 1;
    expect(hosts(upstream, 4)).toBe('bbbb');
  });

  it.each(['round_robin', 'least_requests'] as const)('is a healthy one (%s), until the ejected one gets its trial', (balance) => {
    const upstream = several(balance);
    upstream.failed(upstream.addresses[1]!, 'connect', 0);
    expect(hosts(upstream, 30)).not.toContain('b');
    expect(upstream.counts).toMatchObject({ ejections: 1, failed: 1 });
    expect(hosts(upstream, 30, 1_000).match(/b/g)).toHaveLength(1);
  });

  it('is any if none is healthy, and none that has been tried', () => {
    const upstream = several('round_robin');
    for (const address of upstream.addresses) upstream.failed(address, 'reset', 0);
    expect(hosts(upstream, 6).length).toBe(6);
    const [a, b, c] = upstream.addresses;
    expect(upstream.choose(0, [a!, c!])).toBe(b);
    expect(upstream.choose(0, [a!, b!, c!])).toBeUndefined();
  });

  it('is not ejected for what may be the fault of the request', () => {
    const upstream = several('round_robin');
    for (const kind of ['body_timeout', 'not_forwardable', 'stopping'] as const) upstream.failed(upstream.addresses[0]!, kind, 0);
    expect(upstream.addresses[0]!.health.state).toBe('healthy');
  });
});
