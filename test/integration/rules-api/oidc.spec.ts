import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { isJwt } from '#jwt';
import { ProblemError } from '#platform';
import type { Login } from '../../../apps/rules-api/src/auth/logins.js';
import { oidcLogins, type OidcOptions } from '../../../apps/rules-api/src/auth/oidc-logins.js';
import type { Principal } from '../../../apps/rules-api/src/auth/principal.js';
import { AUDIENCE, TestIssuer } from '../../support/oidc-issuer.js';
import { PATIENCE } from '../../support/patience.mjs';

let issuer: TestIssuer;
beforeEach(async () => {
  issuer = await TestIssuer.start();
});
afterEach(() => issuer.close());

/** Time is the test's, both the time of day and the running one. */
const clock = { nowMs: Date.now(), runningMs: 0 };
const CLAIMS = { roles: 'roles', merchants: undefined, label: undefined };

function logins(changes: Partial<OidcOptions> = {}) {
  const lookUp = oidcLogins({
    issuer: issuer.url,
    audience: AUDIENCE,
    claims: CLAIMS,
    logger: pino({ enabled: false }),
    nowMs: () => clock.nowMs,
    running: () => clock.runningMs,
    cooldownMs: 0,
    ...changes,
  });
  return async (token: string) => shown(await lookUp(token));
}

/** A principal, or the status and the code of a refusal. */
function shown(found: Login<Principal> | ProblemError): unknown {
  return found instanceof ProblemError ? [found.status, found.code] : found.principal;
}

const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
/** The same token with another header, or with other claims, under the old signature. */
const forged = (token: string, { header, claims }: { header?: object; claims?: object }) => {
  const [h, c, signature] = token.split('.') as [string, string, string];
  const part = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString()) as object;
  return [b64({ ...part(h), ...header }), b64({ ...part(c), ...claims }), signature].join('.');
};

describe('a token of an OIDC issuer', () => {
  it('says who it is, with its highest role', async () => {
    const logIn = logins();
    expect(await logIn(await issuer.sign())).toEqual({ name: 'oidc:alice@example.com', role: 'editor', merchants: null });
    const roles = ['offline_access', 'admin', 'viewer'];
    expect(await logIn(await issuer.sign({ roles }))).toMatchObject({ role: 'admin' });
    expect(await logIn(await issuer.sign({ roles: 'viewer' }))).toMatchObject({ role: 'viewer' });
    // One look at the document of the issuer and one at its keys are enough for all of them.
    expect(issuer.asked).toEqual(['/realms/ops/.well-known/openid-configuration', '/realms/ops/keys']);
  });

  it.each(['RS256', 'ES384', 'EdDSA'])('is good with a signature by %s', async (alg) => {
    await issuer.addKey(alg);
    expect(await logins()(await issuer.sign())).toMatchObject({ role: 'editor' });
  });

  it.each<[string, Record<string, unknown>]>([
    ['of another issuer', { iss: 'https://login.example.com' }],
    ['for another audience', { aud: 'another' }],
    ['for no audience', { aud: undefined }],
    ['without an end', { exp: undefined }],
    ['whose end is no number', { exp: 'tomorrow' }],
    ['without a subject', { sub: undefined }],
    ['that is not good yet', { nbf: Math.floor(clock.nowMs / 1000) + 60 }],
    ['that has expired', { exp: Math.floor(clock.nowMs / 1000) - 60 }],
  ])('%s is refused', async (_what, claims) => {
    expect(await logins()(await issuer.sign(claims, clock.nowMs))).toEqual([401, 'token.invalid']);
  });

  it('ends half a minute late, since clocks differ, and not later', async () => {
    const exp = Math.floor(clock.nowMs / 1000);
    const lookUp = oidcLogins({
      issuer: issuer.url,
      audience: AUDIENCE,
      claims: CLAIMS,
      logger: pino({ enabled: false }),
      nowMs: () => clock.nowMs,
    });
    expect(await lookUp(await issuer.sign({ exp: exp - 29 }, clock.nowMs))).toMatchObject({ untilMs: (exp + 1) * 1000 });
    expect(shown(await lookUp(await issuer.sign({ exp: exp - 30 }, clock.nowMs)))).toEqual([401, 'token.invalid']);
  });

  it('is refused if anything of it was changed', async () => {
    const [logIn, token] = [logins(), await issuer.sign({ roles: ['viewer'] })];
    const [header, , signature] = token.split('.') as [string, string, string];
    const content = `${b64({ alg: 'HS256', kid: issuer.newestKey.kid })}.${token.split('.')[1]}`;
    for (const wrong of [
      forged(token, { claims: { roles: ['admin'] } }),
      forged(token, { header: { alg: 'none' } }),
      forged(token, { header: { alg: 'RS256' } }),
      forged(token, { header: { kid: 'unknown' } }),
      forged(token, { header: { crit: ['exp'], exp: 1 } }),
      // Signed with the public key as if it were a shared secret.
      `${content}.${createHmac('sha256', JSON.stringify(issuer.newestKey)).update(content).digest('base64url')}`,
      `${header}.${b64([])}.${signature}`,
      `${header}.e30.${signature}`,
      'eyJ.e30.x',
    ])
      expect([wrong, isJwt(wrong), await logIn(wrong)]).toEqual([wrong, true, [401, 'token.invalid']]);
  });

  it.each<[string, unknown]>([
    ['none', undefined],
    ['of another application', ['owner', 'Admin', 'admin ']],
    ['that are no texts', [7, 'admin']],
    ['hidden in an object', { admin: true }],
  ])('with roles %s is known and may do nothing', async (_what, roles) => {
    expect(await logins()(await issuer.sign({ roles }))).toEqual([403, 'token.role_unknown']);
  });

  it.each<[string, unknown]>([
    ['too long', 'a'.repeat(256)],
    ['two lines', 'two\nlines'],
    ['empty', ''],
    ['a number', 7],
  ])('whose subject is %s may do nothing, for it would stand in the audit', async (_what, sub) => {
    expect(await logins()(await issuer.sign({ sub }))).toEqual([403, 'token.subject_unusable']);
  });

  it('whose subject is admin is another one than the first admin', async () => {
    expect(await logins()(await issuer.sign({ sub: 'admin' }))).toEqual({ name: 'oidc:admin', role: 'editor', merchants: null });
  });

  it('has its roles where the configuration says, be it a name with dots or a path', async () => {
    const claims = { 'https://x.example/roles': ['approver'], realm_access: { roles: ['admin'] }, roles: undefined };
    const by = (roles: string) => logins({ claims: { roles, merchants: undefined, label: undefined } });
    const token = await issuer.sign(claims);
    expect(await by('https://x.example/roles')(token)).toMatchObject({ role: 'approver' });
    expect(await by('realm_access.roles')(token)).toMatchObject({ role: 'admin' });
    expect(await by('realm_access.roles.length')(token)).toEqual([403, 'token.role_unknown']);
    expect(await by('constructor.name')(token)).toEqual([403, 'token.role_unknown']);
  });

  it.each<[string, unknown, readonly string[] | null]>([
    ['a list', ['acme', 'other'], ['acme', 'other']],
    ['one', 'acme', ['acme']],
    ['all', '*', null],
  ])('is limited to the merchants that its claim names: %s', async (_what, tenants, merchants) => {
    const logIn = logins({ claims: { roles: 'roles', merchants: 'tenants', label: undefined } });
    expect(await logIn(await issuer.sign({ tenants }))).toMatchObject({ role: 'editor', merchants });
  });

  it.each<[string, unknown]>([
    ['none', undefined],
    ['an empty list', []],
    ['something that is no id', ['acme', '']],
    ['a number', ['acme', 7]],
    ['too many', Array.from({ length: 101 }, (_, i) => `m${i}`)],
  ])('whose claim of merchants, where one is configured, names %s may do nothing', async (_what, tenants) => {
    const logIn = logins({ claims: { roles: 'roles', merchants: 'tenants', label: undefined } });
    expect(await logIn(await issuer.sign({ tenants }))).toEqual([403, 'token.merchants_unknown']);
  });

  it.each<[string, object, unknown]>([
    ['a label', { area: 'region=eu' }, { merchants: [], label: { key: 'region', value: 'eu' } }],
    ['a label in a list', { area: ['region=eu'] }, { merchants: [], label: { key: 'region', value: 'eu' } }],
    ['all', { area: '*' }, { merchants: null }],
    ['nothing', {}, [403, 'token.label_unknown']],
    ['two labels', { area: ['region=eu', 'tier=gold'] }, [403, 'token.label_unknown']],
    ['something that is no label', { area: 'eu' }, [403, 'token.label_unknown']],
    ['a number', { area: 7 }, [403, 'token.label_unknown']],
  ])('is limited to the label that its claim has: %s', async (_what, claims, expected) => {
    const found = await logins({ claims: { roles: 'roles', merchants: undefined, label: 'area' } })(await issuer.sign({ ...claims }));
    expect(found).toEqual(Array.isArray(expected) ? expected : { name: 'oidc:alice@example.com', role: 'editor', ...(expected as object) });
  });

  it.each<[string, object, unknown]>([
    ['a list alone', { tenants: ['acme'] }, { merchants: ['acme'] }],
    ['a list and no label', { tenants: ['acme'], area: null }, { merchants: ['acme'] }],
    ['a label alone', { area: 'region=eu' }, { merchants: [], label: { key: 'region', value: 'eu' } }],
    ['both', { tenants: ['acme'], area: 'region=eu' }, [403, 'token.limits_ambiguous']],
    ['neither', {}, [403, 'token.merchants_unknown']],
  ])('where both claims are configured is limited by one of them: %s', async (_what, claims, expected) => {
    const found = await logins({ claims: { roles: 'roles', merchants: 'tenants', label: 'area' } })(await issuer.sign({ ...claims }));
    if (Array.isArray(expected)) expect(found).toEqual(expected);
    else expect(found).toMatchObject(expected as object);
  });

  it('with a new key of the issuer is good at once, with a withdrawn one no longer than the keys are kept', async () => {
    const logIn = logins();
    const old = await issuer.sign();
    expect(await logIn(old)).toMatchObject({ role: 'editor' });
    await issuer.addKey();
    issuer.withdrawOlderKeys();
    expect(await logIn(await issuer.sign())).toMatchObject({ role: 'editor' });
    expect(await logIn(old)).toEqual([401, 'token.invalid']);
  });

  it('with a key that nobody knows makes nobody ask the issuer all the time', async () => {
    const logIn = logins({ cooldownMs: 30_000 });
    await logIn(await issuer.sign());
    const before = issuer.asked.length;
    for (let i = 0; i < 20; i++)
      expect(await logIn(forged(await issuer.sign(), { header: { kid: `unknown ${i}` } }))).toEqual([401, 'token.invalid']);
    expect(issuer.asked).toHaveLength(before);
  });
});

describe('while the issuer cannot be asked', () => {
  it('a token is answered 503, and soon good again', async () => {
    const { port } = issuer;
    const [logIn, token] = [logins(), await issuer.sign()];
    await issuer.close();
    expect(await logIn(token)).toEqual([503, 'oidc.unavailable']);
    const again = await TestIssuer.start(port);
    try {
      expect(await logIn(token)).toEqual([503, 'oidc.unavailable']);
      expect(again.asked).toEqual([]);
      clock.runningMs += 2_000;
      // This one has other keys.
      expect(await logIn(token)).toEqual([401, 'token.invalid']);
      expect(await logIn(await again.sign())).toMatchObject({ role: 'editor' });
    } finally {
      await again.close();
      await issuer.close().catch(() => undefined);
    }
  });

  it('a token of a key that was fetched before is good', async () => {
    const [logIn, token] = [logins(), await issuer.sign()];
    expect(await logIn(token)).toMatchObject({ role: 'editor' });
    issuer.answer = (_, response) => response.destroy();
    expect(await logIn(token)).toMatchObject({ role: 'editor' });
    // The document is due again, and cannot be had: the keys are where they were.
    clock.runningMs += 1_000_000;
    const before = issuer.asked.length;
    for (let i = 0; i < 3; i++) expect(await logIn(token)).toMatchObject({ role: 'editor' });
    expect(issuer.asked).toHaveLength(before + 1);
  });

  it('nobody waits longer than the time-out, and many at once cost one question', async () => {
    issuer.answer = () => undefined;
    const [logIn, token] = [logins({ timeoutMs: 100 }), await issuer.sign()];
    const startedMs = performance.now();
    const answers = await Promise.all(Array.from({ length: 20 }, () => logIn(token)));
    for (const answer of answers) expect(answer).toEqual([503, 'oidc.unavailable']);
    expect(performance.now() - startedMs).toBeLessThan(5_000 * PATIENCE);
    expect(issuer.asked).toHaveLength(1);
  });

  it.each<[string, (url: string) => [status: number, body: string, headers?: Record<string, string>]]>([
    ['an error', () => [500, 'no']],
    ['no JSON', () => [200, '<html>']],
    ['null', () => [200, 'null']],
    ['the document of another issuer', (url) => [200, JSON.stringify({ issuer: `${url}/`, jwks_uri: `${url}/keys` })]],
    [
      'keys that anybody on the way could change',
      (url) => [200, JSON.stringify({ issuer: url, jwks_uri: 'http://login.example.com/keys' })],
    ],
    ['keys that are no list', (url) => [200, JSON.stringify({ issuer: url, jwks_uri: `${url}/keys`, keys: 'none' })]],
    ['more than it could be', () => [200, ' '.repeat(600_000)]],
    ['that it is elsewhere', (url) => [302, '', { location: `${url}/elsewhere` }]],
  ])('since it answers %s, a token is answered 503', async (_what, answer) => {
    issuer.answer = (_, response) => {
      const [status, body, headers] = answer(issuer.url);
      response.writeHead(status, headers).end(body);
    };
    expect(await logins()(await issuer.sign())).toEqual([503, 'oidc.unavailable']);
  });

  it('a redirect leads nowhere', async () => {
    let reached = false;
    const elsewhere: Server = createServer((_, response) => {
      reached = true;
      response.end('{}');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    issuer.answer = (_, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/` }).end();
    expect(await logins()(await issuer.sign())).toEqual([503, 'oidc.unavailable']);
    expect(reached).toBe(false);
    elsewhere.closeAllConnections();
    await new Promise<void>((resolve) => elsewhere.close(() => resolve()));
  });
});
