import type { Fields } from '#limiter';
import { mergePatch } from './merge-patch.js';

describe('mergePatch', () => {
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('the example of RFC 7396: %j patched by %j is %j', (target, patch, expected) => {
    expect(mergePatch(target, patch)).toEqual(expected);
  });

  const FIELDS: Fields = {
    known: { kind: 'truth', explanation: '' },
    inner: { kind: 'object', explanation: '', fields: { known: { kind: 'truth', explanation: '' } } },
  };

  it('a null for a field that the table does not have stays, so that it is refused', () => {
    expect(mergePatch({ known: true }, { known: null, konwn: null }, FIELDS)).toEqual({ konwn: null });
    expect(mergePatch({ inner: { known: true } }, { inner: { known: null, konwn: null } }, FIELDS)).toEqual({ inner: { konwn: null } });
  });

  it('leaves the target as it was', () => {
    const target = { inner: { known: true } };
    mergePatch(target, { inner: { known: null } }, FIELDS);
    expect(target).toEqual({ inner: { known: true } });
  });
});
