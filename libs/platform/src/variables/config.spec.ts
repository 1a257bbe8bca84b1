import { readFileSync } from 'node:fs';
import { ConfigError, loadConfig } from './config.js';
import { VARIABLES } from './variables.js';

const DATABASE_URL = 'postgres://user:hunter2hunter2@db:5432/tollgate';
const API = { DATABASE_URL, TOLLGATE_ADMIN_TOKEN: 'an-admin-token-123' };
const GATEWAY = { DATABASE_URL, REDIS_URL: 'redis://r:6379', UPSTREAM_URL: 'http://127.0.0.1:9090' };

function faultsOf(load: () => unknown): readonly string[] {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  throw new Error('expected a ConfigError');
}

describe('loadConfig', () => {
  it('fills in the defaults', () => {
    expect(loadConfig('gateway', GATEWAY)).toMatchObject({
      databaseUrl: DATABASE_URL,
      redisUrl: 'redis://r:6379',
      gatewayPort: 8080,
      gatewayManagementPort: 8081,
      upstreamUrl: new URL('http://127.0.0.1:9090/'),
      trustedProxies: ['127.0.0.1/32', '::1/128'],
      gatewaysExpected: 1,
      unknownMerchant: 'deny',
      logLevel: 'info',
      dataDir: '.tollgate',
      shutdownGraceMs: 10_000,
    });
  });

  it('ignores the variables of other apps', () => {
    const config = loadConfig('rules-api', { ...API, REDIS_URL: 'not even a URL' });
    expect(config).not.toHaveProperty('redisUrl');
    expect(config).toMatchObject({ rulesApiPort: 3000, adminToken: 'an-admin-token-123' });
  });

  it('returns a frozen object', () => expect(Object.isFrozen(loadConfig('rules-api', API))).toBe(true));

  it('uses the Redis of the buckets for the queue unless QUEUE_REDIS_URL is set', () => {
    expect(loadConfig('preloader', GATEWAY).queueRedisUrl).toBe('redis://r:6379');
    expect(loadConfig('preloader', { ...GATEWAY, QUEUE_REDIS_URL: 'redis://q:1' }).queueRedisUrl).toBe('redis://q:1');
  });

  it('treats an empty variable as unset', () => {
    expect(loadConfig('rules-api', { ...API, RULES_API_PORT: '' }).rulesApiPort).toBe(3000);
    expect(faultsOf(() => loadConfig('rules-api', { ...API, DATABASE_URL: '' }))).toHaveLength(1);
  });

  it('names every bad variable at once', () => {
    const faults = faultsOf(() =>
      loadConfig('gateway', { REDIS_URL: 'http://r', GATEWAY_PORT: '70000', UNKNOWN_MERCHANT: 'maybe', LOG_LEVEL: 'loud' }),
    );
    expect(faults.map((fault) => fault.split(':')[0])).toEqual([
      'DATABASE_URL',
      'REDIS_URL',
      'GATEWAY_PORT',
      'UPSTREAM_URL',
      'UNKNOWN_MERCHANT',
      'LOG_LEVEL',
    ]);
    expect(faults).toContain('GATEWAY_PORT: expected a whole number from 0 to 65535, got "70000"');
    expect(faults).toContain('UNKNOWN_MERCHANT: expected one of deny, default, got "maybe"');
  });

  it.each([
    ['TOLLGATE_ADMIN_TOKEN', 'short-secret'],
    ['TOLLGATE_ADMIN_TOKEN', 'a secret with spaces in it'],
    ['DATABASE_URL', 'mysql://user:short-secret@db/x'],
    ['DATABASE_URL', 'secret'],
  ])('never shows the value of %s', (name, value) => {
    const [fault] = faultsOf(() => loadConfig('rules-api', { ...API, [name]: value }));
    expect(fault).toContain(name);
    expect(fault).not.toContain('secret');
  });

  it('needs an upstream, or a file with routes to some', () => {
    const { UPSTREAM_URL, ...neither } = GATEWAY;
    expect(UPSTREAM_URL).toBeDefined();
    expect(faultsOf(() => loadConfig('gateway', neither))).toEqual([
      expect.stringMatching(/^UPSTREAM_URL: is not set, nor is GATEWAY_ROUTES_FILE; it means: /),
    ]);
    const { upstreamUrl, routesFile } = loadConfig('gateway', { ...neither, GATEWAY_ROUTES_FILE: '/etc/routes.yaml' });
    expect([upstreamUrl, routesFile]).toEqual([undefined, '/etc/routes.yaml']);
  });

  it('does not show credentials in a variable that must not have any', () => {
    const [fault] = faultsOf(() => loadConfig('gateway', { ...GATEWAY, UPSTREAM_URL: 'http://me:hunter2@x/' }));
    expect(fault).not.toContain('hunter2');
  });

  it.each(['http://x:9090', 'https://x', 'h2c://x:80'])('takes %s as upstream', (url) =>
    expect(loadConfig('gateway', { ...GATEWAY, UPSTREAM_URL: url }).upstreamUrl?.protocol).toBe(new URL(url).protocol),
  );

  it.each(['ftp://x', 'h2c://x/path', 'h2c://me@x', 'http://x/path', 'http://x?q=1', 'http://', 'x:9090', '127.0.0.1:9090', 'http://x#f'])(
    'refuses %s as upstream',
    (url) => expect(faultsOf(() => loadConfig('gateway', { ...GATEWAY, UPSTREAM_URL: url }))).toHaveLength(1),
  );

  it.each([
    ['https://login.example.com/realms/ops/', true],
    ['http://127.0.0.1:8080/realms/ops', true],
    ['http://localhost', true],
    ['http://login.example.com', false],
    ['http://127.0.0.1.example.com', false],
    ['https://login.example.com/?realm=ops', false],
    ['https://user:secret@login.example.com', false],
    ['login.example.com', false],
  ])('takes %s for an OIDC issuer, as it is written: %p', (issuer, taken) => {
    const env = { ...API, OIDC_ISSUER: issuer };
    if (taken) expect(loadConfig('rules-api', env).oidcIssuer).toBe(issuer);
    else expect(faultsOf(() => loadConfig('rules-api', env))).toHaveLength(1);
  });

  it.each(['-1', '1.5', '1e3', ' 80', '0x50', 'eighty', '65536', '99999999999999999999'])('refuses %p as port', (text) =>
    expect(faultsOf(() => loadConfig('rules-api', { ...API, RULES_API_PORT: text }))).toHaveLength(1),
  );

  it.each([
    ['', undefined],
    ['1.5', 1.5],
    ['1000', 1000],
  ])('takes %p as the factor above which an override waits for approval', (text, factor) =>
    expect(loadConfig('rules-api', { ...API, APPROVAL_OVERRIDE_FACTOR: text }).approvalOverrideFactor).toBe(factor),
  );

  it.each(['0', '0.999', '1001', '-5', '5x', '1e2', '1.2345'])('refuses %s as such a factor', (text) =>
    expect(faultsOf(() => loadConfig('rules-api', { ...API, APPROVAL_OVERRIDE_FACTOR: text }))).toHaveLength(1),
  );

  it.each(['9999', '86400001'])('refuses %s as preload interval', (text) =>
    expect(faultsOf(() => loadConfig('preloader', { ...GATEWAY, PRELOAD_INTERVAL_MS: text }))).toHaveLength(1),
  );

  it('parses only variables that have a row in docs/operations.md', () => {
    const rows = readFileSync('docs/operations.md', 'utf8').match(/^\| `[A-Z0-9_]+`/gm) ?? [];
    const documented = rows.map((row) => row.slice(3, -1));
    expect(documented.sort()).toEqual(expect.arrayContaining(Object.values(VARIABLES).map(({ name }) => name)));
  });

  it('has every name once', () => {
    const names = Object.values(VARIABLES).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});
