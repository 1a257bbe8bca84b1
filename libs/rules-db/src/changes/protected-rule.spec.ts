import { ApprovalWantedError, demandApprovalOfOverride, isProtected } from './protected-rule.js';

describe('isProtected', () => {
  it.each([
    [{ protected: 'true' }, true],
    [{ protected: '' }, true],
    [{ protected: 'False' }, true],
    [{ protected: 'false' }, false],
    [{ team: 'risk' }, false],
    [{}, false],
    [null, false],
    // Rows that somebody edited by hand: the safe side.
    [{ protected: false }, true],
    [{ protected: null }, true],
  ])('a rule with the labels %j: %s', (labels, expected) => {
    expect(isProtected(labels)).toBe(expected);
  });
});

describe('demandApprovalOfOverride', () => {
  const change = { action: 'override.created', merchantId: 'acme', ruleId: '1', version: 1, before: null, after: { multiply: 5 } };
  const demand =
    (factor: number, labels: Record<string, unknown>, by: { approval?: unknown } = {}) =>
    () =>
      demandApprovalOfOverride(change, { labels, factor, allowedFactor: 5 }, by);

  it('lets pass what one administrator may do, and what was approved', () => {
    expect(demand(5, {})).not.toThrow();
    expect(demand(6, { protected: 'true' }, { approval: { id: '5', by: 'second' } })).not.toThrow();
  });

  it.each([
    [5.000_1, {}],
    [NaN, {}],
    [1, { protected: 'true' }],
  ])('wants a second administrator for a factor of %d with the labels %j', (factor, labels) => {
    expect(demand(factor, labels)).toThrow(ApprovalWantedError);
  });
});
