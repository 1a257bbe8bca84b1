import { entityTag, expectedVersions } from './entity-tag.js';

describe('entityTag', () => {
  it('is strong', () => expect(entityTag(3)).toBe('"3"'));
});

describe('expectedVersions', () => {
  it.each<[string, ReturnType<typeof expectedVersions>]>([
    ['"3"', [3]],
    [' "3" ', [3]],
    ['"3", "4"', [3, 4]],
    ['"3","4"', [3, 4]],
    ['*', 'any'],
    ['W/"3"', []],
    ['W/"3", "4"', [4]],
    ['"abc"', []],
    ['"03"', []],
    ['"0"', []],
    ['"-1"', []],
    ['""', []],
    ['"99999999999999999999"', []],
  ])('reads %s', (header, expected) => expect(expectedVersions(header)).toEqual(expected));

  it.each(['', '3', '"3', '3"', "'3'", '"3" "4"', '"3",', '*, "3"', 'w/"3"', '"a b"'])('refuses %p', (header) => {
    expect(() => expectedVersions(header)).toThrow(expect.objectContaining({ status: 400 }) as Error);
  });

  it('asks for the header with 428', () => {
    expect(() => expectedVersions(undefined)).toThrow(expect.objectContaining({ status: 428 }) as Error);
  });

  it('is linear in the length of the header', () => {
    const before = performance.now();
    expect(() => expectedVersions(`${'"1" ,'.repeat(10_000)}x`)).toThrow();
    expect(performance.now() - before).toBeLessThan(1_000);
  });
});
