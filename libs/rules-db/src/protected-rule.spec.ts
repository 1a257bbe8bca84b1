import { isProtected } from './protected-rule.js';

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
