import { pino } from 'pino';
import type { FastifyRequest } from 'fastify';
import { API_KEY_TEXT, ProblemError } from '#platform';
import type { StoredApiKey, StoredToken } from '#rules-db';
import { Authenticator } from './authenticator.js';
import { merchantOf, principalOf } from './principal.js';
import { TokenText } from './token-text.js';

const ADMIN = 'the-right-token-1';
const tokenText = new TokenText('a secret of the tests');

function setUp() {
  const stored = new Map<string, StoredToken>();
  const clock = { nowMs: 1_700_000_000_000 };
  const keys = new Map<string, StoredApiKey>();
  const asked: string[] = [];
  const used: string[] = [];
  const authenticator = new Authenticator({
    adminToken: ADMIN,
    tokenText,
    tokens: {
      byPrefix: (prefix) => {
        asked.push(prefix);
        return Promise.resolve(stored.get(prefix) ?? null);
      },
      used: (id) => Promise.resolve(void used.push(id)),
    },
    apiKeys: {
      byPrefix: (prefix) => {
        asked.push(prefix);
        return Promise.resolve(keys.get(prefix) ?? null);
      },
      used: (id) => Promise.resolve(void used.push(`key ${id}`)),
    },
    isReady: () => true,
    logger: pino({ enabled: false }),
    nowMs: () => clock.nowMs,
  });
  const ask = async (authorization: string | undefined, ip = '192.0.2.1', url = '/v1/merchants') => {
    const request = { headers: { authorization }, ip, routeOptions: { url } } as unknown as FastifyRequest;
    const refusal = await authenticator.refusal(request);
    return refusal?.status ?? principalOf(request)?.name ?? merchantOf(request);
  };
  const issue = (changes: Partial<StoredToken> = {}) => {
    const { token, prefix, hash } = tokenText.make();
    stored.set(prefix, { id: '1', name: 'ci', role: 'editor', merchants: null, label: null, prefix, hash, until: null, ...changes });
    return { token: `Bearer ${token}`, prefix };
  };
  const issueKey = (changes: Partial<StoredApiKey> = {}) => {
    const { token, prefix, hash } = API_KEY_TEXT.make();
    keys.set(prefix, { id: '7', merchantId: 'acme', user: null, labels: {}, prefix, hash, until: null, ...changes });
    return { key: `Bearer ${token}`, prefix };
  };
  return { ask, issue, stored, issueKey, keys, clock, asked, used };
}

describe('the authenticator', () => {
  it.each([`Bearer ${ADMIN}`, `bearer ${ADMIN}`, `Bearer   ${ADMIN} `])('knows the first admin by %p', async (authorization) => {
    const { ask, asked } = setUp();
    expect(await ask(authorization)).toBe('admin');
    expect(asked).toEqual([]);
  });

  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    ADMIN,
    `Basic ${ADMIN}`,
    'Bearer the-right-token-2',
    `Bearer ${ADMIN}1`,
    'Bearer the right-token-1',
    `Bearer ${'x'.repeat(5_000)}`,
  ])('refuses %p', async (authorization) => {
    const { ask, asked } = setUp();
    expect(await ask(authorization)).toBe(401);
    expect(asked).toEqual([]);
  });

  it('knows a token, looks it up once a second, and feels within that second that it was revoked', async () => {
    const { ask, issue, stored, clock, asked } = setUp();
    const { token, prefix } = issue();
    for (let i = 0; i < 10; i++) expect(await ask(token)).toBe('ci');
    expect(asked).toEqual([prefix]);
    stored.clear();
    clock.nowMs += 999;
    expect(await ask(token)).toBe('ci');
    clock.nowMs += 1;
    expect(await ask(token)).toBe(401);
  });

  it('looks again when the clock has stepped back', async () => {
    const { ask, issue, stored, clock } = setUp();
    const { token } = issue();
    expect(await ask(token)).toBe('ci');
    stored.clear();
    clock.nowMs -= 3_600_000;
    expect(await ask(token)).toBe(401);
  });

  it.each<[string, Partial<StoredToken>]>([
    ['that expired', { until: new Date(1_700_000_000_000) }],
    ['with a role that nobody knows', { role: 'emperor' }],
    ['with merchants that are no list', { merchants: 'acme' }],
    ['with a label that is none', { merchants: [], label: 'eu' }],
    ['with a label that is no text', { merchants: [], label: { region: 'eu' } }],
    ['whose hash is another one', { hash: Buffer.alloc(32) }],
    ['whose hash is too short', { hash: Buffer.alloc(1) }],
  ])('refuses a token %s', async (_what, changes) => {
    const { ask, issue } = setUp();
    expect(await ask(issue(changes).token)).toBe(401);
  });

  it('refuses a token from the moment on at which it expires, also one that it remembers', async () => {
    const { ask, issue, clock } = setUp();
    const { token } = issue({ until: new Date(clock.nowMs + 500) });
    expect(await ask(token)).toBe('ci');
    clock.nowMs += 500;
    expect(await ask(token)).toBe(401);
  });

  it('refuses the same token with one character changed', async () => {
    const { ask, issue } = setUp();
    const { token } = issue();
    expect(await ask(token)).toBe('ci');
    for (const at of [20, token.length - 2]) {
      const other = token[at] === 'A' ? 'B' : 'A';
      expect(await ask(token.slice(0, at) + other + token.slice(at + 1))).toBe(401);
    }
  });

  it('lets an address try twenty tokens, then one in three seconds; others and known tokens are not concerned', async () => {
    const { ask, issue, clock, asked } = setUp();
    const { token } = issue();
    expect(await ask(token)).toBe('ci');
    const guess = () => ask(`Bearer ${tokenText.make().token}`);
    const answers = [];
    for (let i = 0; i < 25; i++) answers.push(await guess());
    expect(answers).toEqual([...Array<number>(20).fill(401), ...Array<number>(5).fill(429)]);
    expect(asked).toHaveLength(21);
    clock.nowMs += 3_000;
    expect([await guess(), await guess()]).toEqual([401, 429]);
    // The token that was good is looked up again all the same.
    expect(await ask(token)).toBe('ci');
    expect(await ask(`Bearer ${tokenText.make().token}`, '192.0.2.2')).toBe(401);
  });

  it('any number of good tokens that nobody has seen before may come from one address', async () => {
    const { ask, issue } = setUp();
    for (let i = 0; i < 50; i++) expect(await ask(issue().token)).toBe('ci');
  });

  it('tokens and API keys that are not known are counted together', async () => {
    const { ask } = setUp();
    for (let i = 0; i < 10; i++) expect(await ask(`Bearer ${tokenText.make().token}`)).toBe(401);
    for (let i = 0; i < 10; i++) expect(await ask(`Bearer ${API_KEY_TEXT.make().token}`)).toBe(401);
    expect(await ask(`Bearer ${API_KEY_TEXT.make().token}`)).toBe(429);
    expect(await ask(`Bearer ${tokenText.make().token}`)).toBe(429);
  });

  it('counts an IPv6 network as one address', async () => {
    const { ask } = setUp();
    const answers = [];
    for (let i = 0; i < 21; i++) answers.push(await ask(`Bearer ${tokenText.make().token}`, `2001:db8::${i.toString(16)}`));
    expect(answers.at(-1)).toBe(429);
  });

  it('writes the last use at most once a minute', async () => {
    const { ask, issue, clock, used } = setUp();
    const { token } = issue();
    for (let i = 0; i < 60; i++, clock.nowMs += 1_000) await ask(token);
    expect(used).toHaveLength(1);
    await ask(token);
    expect(used).toHaveLength(2);
  });

  it('answers 503 while the database cannot be asked', async () => {
    const { ask } = setUp();
    const { token } = tokenText.make();
    const away = new Authenticator({
      adminToken: ADMIN,
      tokenText,
      tokens: { byPrefix: () => Promise.reject(new Error('away')), used: () => Promise.resolve() },
      apiKeys: { byPrefix: () => Promise.reject(new Error('away')), used: () => Promise.resolve() },
      isReady: () => true,
      logger: pino({ enabled: false }),
    });
    const request = {
      headers: { authorization: `Bearer ${token}` },
      ip: '::1',
      routeOptions: { url: '/v1/x' },
    } as unknown as FastifyRequest;
    expect((await away.refusal(request))?.status).toBe(503);
    expect(await ask(`Bearer ${ADMIN}`)).toBe('admin');
  });
});

describe('an API key of a merchant', () => {
  const ME = '/v1/me/limits';

  it('makes the merchant known at /v1/me, and is refused everywhere else', async () => {
    const { ask, issueKey, used } = setUp();
    const { key } = issueKey();
    expect(await ask(key, '192.0.2.1', ME)).toEqual({ merchantId: 'acme', keyId: '7' });
    expect(used).toEqual(['key 7']);
    for (const url of ['/v1/merchants', '/v1/merchants/:merchantId', '/v1/apply', '/v1/me', '/v1/mellow/x'])
      expect([url, await ask(key, '192.0.2.1', url)]).toEqual([url, 403]);
  });

  it('is refused within a second of its end', async () => {
    const { ask, issueKey, keys, clock } = setUp();
    const { key } = issueKey();
    expect(await ask(key, '192.0.2.1', ME)).toMatchObject({ merchantId: 'acme' });
    keys.clear();
    clock.nowMs += 1_000;
    expect(await ask(key, '192.0.2.1', ME)).toBe(401);
  });

  it.each<[string, Partial<StoredApiKey>]>([
    ['that expired', { until: new Date(1_700_000_000_000) }],
    ['whose hash is another one', { hash: Buffer.alloc(32) }],
    ['of what can be no merchant', { merchantId: '' }],
  ])('%s is refused', async (_what, changes) => {
    const { ask, issueKey } = setUp();
    expect(await ask(issueKey(changes).key, '192.0.2.1', ME)).toBe(401);
  });
});

describe('a token of an OIDC issuer', () => {
  const NOT_USED = { byPrefix: () => Promise.resolve(null), used: () => Promise.resolve() };
  const jwt = (name: string) => `Bearer eyJ.${name}.x`;

  /** What the issuer says of `eyJ.NAME.x`. */
  function setUpOidc(says: (name: string) => ProblemError | 'known') {
    const asked: string[] = [];
    const authenticator = new Authenticator({
      adminToken: ADMIN,
      tokenText,
      tokens: NOT_USED,
      apiKeys: NOT_USED,
      isReady: () => true,
      logger: pino({ enabled: false }),
      nowMs: () => 1_700_000_000_000,
      oidc: (token) => {
        const [, name = ''] = token.split('.');
        asked.push(name);
        const found = says(name);
        const principal = { name: `oidc:${name}`, role: 'viewer', merchants: null } as const;
        return Promise.resolve(found === 'known' ? { principal, untilMs: Infinity } : found);
      },
    });
    const ask = async (authorization: string) => {
      const request = { headers: { authorization }, ip: '192.0.2.1', routeOptions: { url: '/v1/x' } } as unknown as FastifyRequest;
      return (await authenticator.refusal(request))?.status ?? principalOf(request)?.name;
    };
    return { ask, asked };
  }

  it('is looked up by the issuer, once a second, and no other token is', async () => {
    const { ask, asked } = setUpOidc(() => 'known');
    for (let i = 0; i < 3; i++) expect(await ask(jwt('alice'))).toBe('oidc:alice');
    expect(await ask(`Bearer ${tokenText.make().token}`)).toBe(401);
    expect(asked).toEqual(['alice']);
  });

  it('that is wrong counts as a try; one that is good, or that nobody can judge now, does not', async () => {
    const status = { wrong: 401, away: 503, idle: 403 } as Record<string, number>;
    const { ask } = setUpOidc((name) => {
      const refused = status[name.replace(/\d/g, '')];
      return refused === undefined ? 'known' : new ProblemError({ status: refused, detail: name });
    });
    for (const name of ['away', 'idle', 'good']) for (let i = 0; i < 25; i++) expect(await ask(jwt(name + i))).not.toBe(429);
    for (let i = 0; i < 20; i++) expect(await ask(jwt(`wrong${i}`))).toBe(401);
    expect(await ask(jwt('wrong20'))).toBe(429);
    expect(await ask(jwt('good0'))).toBe('oidc:good0');
  });
});
