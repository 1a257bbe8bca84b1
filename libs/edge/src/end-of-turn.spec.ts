import { setImmediate as turn } from 'node:timers/promises';
import { EndOfTurn } from './end-of-turn.js';

test('what comes up in a turn is done at its end, in order and once', async () => {
  const done: string[] = [];
  const later = new EndOfTurn<string>((item) => {
    done.push(item);
    if (item === 'a') later.add('brought by a');
  });
  later.add('a');
  await Promise.resolve().then(() => later.add('b'));
  process.nextTick(() => later.add('c'));
  expect(done).toEqual([]);
  await turn();
  expect(done).toEqual(['a', 'b', 'c']);
  await turn();
  expect(done).toEqual(['a', 'b', 'c', 'brought by a']);
});
