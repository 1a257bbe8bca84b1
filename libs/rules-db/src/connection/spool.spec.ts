import { itemsOfPieces, Spool } from './spool.js';

const filled = (count: number) => {
  const spool = new Spool<{ readonly i: number; readonly text: string; readonly at?: Date | undefined }>();
  for (let i = 0; i < count; i++) spool.push({ i, text: `"ü${i}` });
  return spool;
};

test.each([0, 1, 499, 500, 501, 1_700])('%i values come out as they went in, in batches and as the items of an array', (count) => {
  const spool = filled(count);
  const values = Array.from({ length: count }, (_, i) => ({ i, text: `"ü${i}` }));
  expect(spool.length).toBe(count);
  expect([...spool.batches()].flat()).toEqual(values);
  expect(JSON.parse(`[${[...itemsOfPieces(spool.packed())].join('')}]`)).toEqual(values);
  expect([...spool.texts()].flatMap((text) => JSON.parse(text) as unknown)).toEqual(values);
  // It can be read more than once.
  expect([...spool.batches()].flat()).toHaveLength(count);
});

test('a batch is no larger than a piece, and what is packed takes little', () => {
  const spool = new Spool<object>();
  for (let i = 0; i < 5_000; i++)
    spool.push({ name: `rule ${i}`, limits: [{ algorithm: 'token_bucket', capacity: i }], labels: {}, note: 'the same' });
  for (const batch of spool.batches()) expect(batch.length).toBeLessThanOrEqual(500);
  const packed = spool.packed().reduce((sum, { length }) => sum + length, 0);
  expect(packed * 4).toBeLessThan([...itemsOfPieces(spool.packed())].join('').length);
});

test('few values stay what they are', () => {
  const at = new Date(0);
  const spool = new Spool<object>();
  spool.push({ at, nothing: undefined });
  expect([...spool.batches()]).toEqual([[{ at, nothing: undefined }]]);
});
