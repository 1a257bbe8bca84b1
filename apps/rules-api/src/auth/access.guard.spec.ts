import { ROLES } from '#rules-db';
import type { Access } from './access.js';
import { refusalOf } from './access.guard.js';
import type { Principal } from './principal.js';

const bearer = (role: Principal['role'], merchants: readonly string[] | null = null): Principal => ({ name: 'x', role, merchants });
const needs = (role: Access['role'], limited: Access['limited'] = 'merchant'): Access => ({ role, limited });

describe('what a token may do', () => {
  it.each(ROLES.flatMap((has, i) => ROLES.map((role, j) => ({ has, role, may: i >= j }))))(
    '$has may do what $role may: $may',
    ({ has, role, may }) => {
      expect(refusalOf(needs(role), bearer(has), 'acme') === undefined).toBe(may);
    },
  );

  it.each([
    { limited: 'merchant', merchantId: 'acme', refusal: undefined },
    { limited: 'merchant', merchantId: 'other', refusal: 'your token is limited to other merchants' },
    { limited: 'merchant', merchantId: undefined, refusal: 'your token is limited to other merchants' },
    { limited: 'anything', merchantId: undefined, refusal: undefined },
    { limited: 'filtered', merchantId: undefined, refusal: undefined },
    { limited: 'nothing', merchantId: 'acme', refusal: 'your token is limited to merchants, and this concerns others as well' },
  ] as const)('limited to acme, $limited of $merchantId: $refusal', ({ limited, merchantId, refusal }) => {
    expect(refusalOf(needs('viewer', limited), bearer('admin', ['acme']), merchantId)?.[1]).toBe(refusal);
    expect(refusalOf(needs('viewer', limited), bearer('admin'), merchantId)).toBeUndefined();
  });
});
