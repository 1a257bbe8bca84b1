import { text } from 'node:stream/consumers';
import { Spool } from '#rules-db';
import { PackedAnswer } from './packed-answer.js';

const packed = (values: readonly unknown[]) => {
  const spool = new Spool();
  for (const value of values) spool.push(value);
  return spool.packed();
};
const textOf = (answer: PackedAnswer) => text(answer.getStream());

describe('a packed answer', () => {
  it.each([0, 1, 1_200])('of %i items is the same when it is made again from what was kept', async (count) => {
    const changes = Array.from({ length: count }, (_, i) => ({ id: `"ü${i}` }));
    const answer = new PackedAnswer('{"changes":[', packed(changes), '],"applied":true}');
    const kept = JSON.parse(JSON.stringify(answer.kept())) as NonNullable<ReturnType<PackedAnswer['kept']>>;
    const first = await textOf(answer);
    expect(JSON.parse(first)).toEqual({ changes, applied: true });
    expect(await textOf(PackedAnswer.again(kept))).toBe(first);
  });

  it('that is too long is not kept', () => {
    const ofBytes = (bytes: number) => new PackedAnswer('[', [Buffer.alloc(100), Buffer.alloc(bytes)], ']').kept();
    expect(ofBytes(12 * 1024 * 1024 - 100)).toBeDefined();
    expect(ofBytes(12 * 1024 * 1024)).toBeUndefined();
  });
});
