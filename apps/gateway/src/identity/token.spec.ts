import type { Named } from './caller.js';
import { idOf } from './known-tokens.js';
import { createTokenReader } from './token.js';
import { callerOfClaims } from './token-claims.js';

const CALLER = { merchantId: 'acme', user: null };
const JWT = 'eyJhbGciOiJFUzI1NiJ9.e30.x';
const ID = idOf(JWT);

/** What a reader says of these values of Authorization, that knows the JWT, or that has to check each token. */
const read = (knows: boolean, ...values: string[]) =>
  new Promise<Named>((resolve) =>
    createTokenReader({
      get: (id) => (knows && id === ID ? CALLER : undefined),
      check: (id, token) => (!knows && id === ID && token === JWT ? Promise.resolve(CALLER) : Promise.reject(new Error('not asked'))),
    })({ head: { authorizations: values.length, authorization: values.at(-1) ?? '' } }, resolve),
  );

it.each<[string, string[], Named]>([
  ['a JWT', [`Bearer ${JWT}`], CALLER],
  ['a JWT, in another case of the scheme', [`bEARER  ${JWT}`], CALLER],
  ['a JWT and spaces around it', [`Bearer   ${JWT}  `], CALLER],
  ['nothing', [], null],
  ['another scheme', [`Basic ${JWT}`], null],
  ['an API key of ours, which is for another reader', ['Bearer tgk_5f0c2a91be04_x'], null],
  ['two headers', [`Bearer ${JWT}`, `Bearer ${JWT}`], 'duplicate_authorization'],
  ['a list', [`Bearer ${JWT}, Bearer ${JWT}`], 'invalid_token'],
  ['an opaque token', ['Bearer of-another-system'], 'invalid_token'],
  ['the scheme alone', ['Bearer'], 'invalid_token'],
  ['a tab in place of a space', [`Bearer\t${JWT}`], 'invalid_token'],
  ['bytes beyond ASCII', [`Bearer ${JWT}\xe4`], 'invalid_token'],
  ['a huge one', [`Bearer ${JWT}${'x'.repeat(9_000)}`], 'invalid_token'],
  ['one without a signature', ['Bearer eyJhbGciOiJub25lIn0.e30.'], 'invalid_token'],
  ['one in two parts', ['Bearer eyJhbGciOiJFUzI1NiJ9.e30'], 'invalid_token'],
])('Authorization with %s', async (_what, values, named) => {
  expect(await read(true, ...values)).toEqual(named);
  expect(await read(false, ...values)).toEqual(named);
});

describe('the claims of a valid token', () => {
  const names = { merchant: 'org.id', user: 'sub' };

  it('name the merchant and the user, and are kept as they were checked', () => {
    const claims = { org: { id: 'acme' }, sub: 'u1', scope: ['a'] };
    expect(callerOfClaims(claims, names)).toEqual({ merchantId: 'acme', user: 'u1', claims: JSON.stringify(claims) });
    expect(callerOfClaims({ 'org.id': 7, sub: 12 }, names)).toMatchObject({ merchantId: '7', user: '12' });
    expect(callerOfClaims({ org: { id: 'acme' } }, names)).toMatchObject({ user: null });
    expect(callerOfClaims({ org: { id: 'acme' }, sub: 'u1' }, { ...names, user: '' })).toMatchObject({ user: null });
  });

  it.each([undefined, null, '', 'x'.repeat(129), 'a\nb', 1.5, ['acme'], { id: 'acme' }, true])('name no merchant by %j', (id) => {
    expect(callerOfClaims({ org: { id } }, names)).toBe('token_without_merchant');
  });

  it.each(['', ' u1', 'a\r\nX-Admin: 1', 'x'.repeat(129), ['u1'], {}, false, 0.5])('name no user by %j', (sub) => {
    expect(callerOfClaims({ org: { id: 'acme' }, sub }, names)).toBe('token_user_unusable');
  });
});
