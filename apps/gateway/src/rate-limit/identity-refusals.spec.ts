import type { IdentityKind } from '#platform';
import { createIdentityRefusal } from './identity-refusals.js';

const refusalBy = (kinds: readonly IdentityKind[], apiKeyHeader = '') => {
  const refuse = createIdentityRefusal({ kinds, apiKeyHeader });
  return (problem: Parameters<typeof refuse>[0]) => {
    const { status, headers, body } = refuse(problem, 'r-1');
    const { code, detail } = JSON.parse(body) as { code: string; detail: string };
    return { status, code, detail, challenge: headers[headers.indexOf('WWW-Authenticate') + 1] };
  };
};

describe('a request that does not say whose it is', () => {
  it.each<[readonly IdentityKind[], string, string[], string[], string]>([
    [['header'], '', ['X-Merchant-Id'], ['tgk_'], 'Merchant realm="tollgate"'],
    [['api-key'], '', ['Authorization: Bearer tgk_...'], ['X-Merchant-Id'], 'Bearer realm="tollgate"'],
    [['api-key'], 'x-api-key', ['tgk_', 'x-api-key'], ['X-Merchant-Id'], 'Bearer realm="tollgate"'],
    [['certificate'], '', ['a client certificate'], ['X-Merchant-Id', 'tgk_'], 'Merchant realm="tollgate"'],
    [['api-key', 'header'], '', ['tgk_', 'X-Merchant-Id'], [], 'Bearer realm="tollgate", Merchant realm="tollgate"'],
  ])('is told what a gateway with IDENTITY=%s and the header "%s" accepts', (kinds, header, named, unnamed, challenge) => {
    const refused = refusalBy(kinds, header)('no_identity');
    expect(refused).toMatchObject({ status: 401, code: 'identity.missing', challenge });
    for (const each of named) expect(refused.detail).toContain(each);
    for (const each of unnamed) expect(refused.detail).not.toContain(each);
  });
});

it.each([
  ['untrusted_peer', 401, 'identity.not_trusted', 'Bearer realm="tollgate", Merchant realm="tollgate"'],
  ['invalid_api_key', 401, 'identity.api_key_invalid', 'Bearer realm="tollgate", error="invalid_token"'],
] as const)('%s is answered %i %s with a challenge', (problem, status, code, challenge) => {
  expect(refusalBy(['api-key', 'header'])(problem)).toMatchObject({ status, code, challenge });
});

it.each([
  ['duplicate_identity', 400, 'identity.repeated'],
  ['invalid_identity', 400, 'identity.malformed'],
  ['duplicate_authorization', 400, 'identity.authorization_repeated'],
  ['duplicate_api_key', 400, 'identity.api_key_repeated'],
  ['duplicate_certificate', 400, 'identity.certificate_repeated'],
  ['invalid_certificate', 401, 'identity.certificate_malformed'],
  ['certificate_not_verified', 401, 'identity.certificate_untrusted'],
  ['certificate_expired', 401, 'identity.certificate_expired'],
  ['certificate_without_merchant', 401, 'identity.certificate_merchant'],
  ['too_many_unknown_keys', 503, 'identity.too_many_lookups'],
  ['keys_unavailable', 503, 'identity.keys_unavailable'],
] as const)('%s is answered %i %s', (problem, status, code) => {
  expect(refusalBy(['api-key', 'header'])(problem)).toMatchObject({ status, code });
});
