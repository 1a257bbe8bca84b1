import { eventsOf } from './webhook-events.js';

const by = { name: 'ci', requestId: 'request-1', reason: 'ticket OPS-17' };
const actors = { actor: 'ci', reason: 'ticket OPS-17', requestId: 'request-1' };

describe('eventsOf', () => {
  it('makes one event of all rules of an owner that one transaction changed', () => {
    const changed = (merchantId: string | null, ruleId: string, action: string, version: number | null) => ({
      merchantId,
      ruleId,
      action,
      before: null,
      after: version === null ? null : { version },
      by,
    });
    expect(
      eventsOf([
        changed('acme', '1', 'rule.created', 1),
        changed(null, '2', 'rule.replaced', 5),
        changed('acme', '3', 'rule.deleted', null),
      ]),
    ).toEqual([
      {
        type: 'rule.changed',
        data: {
          merchantId: 'acme',
          changes: [
            { ruleId: '1', action: 'rule.created', version: 1 },
            { ruleId: '3', action: 'rule.deleted', version: null },
          ],
          ...actors,
        },
      },
      { type: 'rule.changed', data: { merchantId: null, changes: [{ ruleId: '2', action: 'rule.replaced', version: 5 }], ...actors } },
    ]);
  });

  it('tells that rules went with their merchant, and nothing of a merchant without any', () => {
    const deleted = (rules: object[]) => ({
      merchantId: 'acme',
      action: 'merchant.deleted',
      before: { id: 'acme', rules },
      after: null,
      by,
    });
    expect(eventsOf([deleted([{ id: '7' }])])).toMatchObject([{ data: { changes: [{ ruleId: '7', action: 'rule.deleted' }] } }]);
    expect(eventsOf([deleted([])])).toEqual([]);
  });

  it('tells of the rules of a plan apart from default ones, and that they went with their plan', () => {
    const rule = (plan: string | null) => ({ merchantId: null, plan, ruleId: '1', action: 'rule.replaced', before: {}, after: {}, by });
    const deleted = { merchantId: null, plan: 'free', action: 'plan.deleted', before: { rules: [{ id: '7' }] }, after: null, by };
    expect(eventsOf([rule('pro'), rule(null), deleted]).map(({ data }) => (data as { plan?: string }).plan)).toEqual([
      'pro',
      undefined,
      'free',
    ]);
  });

  it('names the second administrator of an approved change', () => {
    const approved = { merchantId: 'acme', ruleId: '1', action: 'rule.replaced', before: {}, after: { version: 2 } };
    expect(eventsOf([{ ...approved, by: { ...by, approval: { id: '5', by: 'second' } } }])).toMatchObject([
      { data: { approvedBy: 'second' } },
    ]);
  });

  it('tells that an approval is wanted, without what is to be changed', () => {
    const change = { action: 'rule.deleted', merchantId: 'acme', ruleId: '1', version: 3, before: { limits: [] }, after: null };
    const expiresAt = new Date(0);
    expect(
      eventsOf([
        {
          merchantId: 'acme',
          ruleId: '1',
          action: 'approval.wanted',
          before: null,
          after: { approval: { id: '5' }, expiresAt, change },
          by,
        },
      ]),
    ).toEqual([
      {
        type: 'approval.wanted',
        data: { approvalId: '5', merchantId: 'acme', ruleId: '1', action: 'rule.deleted', version: 3, expiresAt, ...actors },
      },
    ]);
  });

  it.each([
    ['override.ended', { multiply: 5 }, 'ended'],
    ['override.deleted', { limits: [{ name: 'burst', capacity: 50 }] }, 'deleted'],
  ])('tells by %s that an override has ended', (action, numbers, state) => {
    const recorded = { override: '3', ...numbers, from: new Date(0), until: new Date(9_000), reason: 'a sale' };
    const until = new Date(5_000);
    const change = { merchantId: 'acme', ruleId: '1', before: { ...recorded, state: 'active' }, after: { ...recorded, until, state }, by };
    expect(eventsOf([{ ...change, action }])).toEqual([
      {
        type: 'override.ended',
        data: { overrideId: '3', merchantId: 'acme', ruleId: '1', ...numbers, from: new Date(0), until, state, ...actors },
      },
    ]);
  });

  it('tells nothing of tokens, buckets and merchants', () => {
    for (const action of ['token.created', 'bucket.reset', 'merchant.updated', 'approval.approved', 'override.created'])
      expect(eventsOf([{ merchantId: 'acme', ruleId: '1', action, before: {}, after: {}, by }])).toEqual([]);
  });
});
