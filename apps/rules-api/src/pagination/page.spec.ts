import { decodeCursor, encodeCursor, toPage } from './page.js';

const isNumber = (values: readonly unknown[]): values is [number] => values.length === 1 && typeof values[0] === 'number';

describe('a cursor', () => {
  it('holds the position that was encoded', () => expect(decodeCursor('list', encodeCursor('list', [7]), isNumber)).toEqual([7]));

  it.each([
    ['of another list', encodeCursor('other', [7])],
    ['with another position', encodeCursor('list', ['7'])],
    ['with more values', encodeCursor('list', [7, 8])],
    ['without values', encodeCursor('list', [])],
    ['that is no JSON', Buffer.from('[').toString('base64url')],
    ['that is no list', Buffer.from('{"0":"list"}').toString('base64url')],
    ['that is noise', '%%%'],
    ['that is empty', ''],
  ])('%s is refused', (_name, cursor) => {
    expect(() => decodeCursor('list', cursor, isNumber)).toThrow(
      expect.objectContaining({
        status: 400,
        errors: [{ parameter: 'cursor', code: 'query.cursor.malformed', detail: 'must be the nextCursor of a page of this list' }],
      }) as Error,
    );
  });
});

describe('toPage', () => {
  const page = (rows: number[], limit: number) =>
    toPage(
      rows,
      limit,
      (row) => `item ${row}`,
      (row) => `after ${row}`,
    );

  it('has a next cursor only if more items follow', () => {
    expect(page([1, 2, 3], 2)).toEqual({ items: ['item 1', 'item 2'], nextCursor: 'after 2' });
    expect(page([1, 2], 2)).toEqual({ items: ['item 1', 'item 2'], nextCursor: null });
    expect(page([], 2)).toEqual({ items: [], nextCursor: null });
  });
});
