import { chartOf, inWords } from './preview.js';

const replay = {
  requests: 30,
  refusedNow: 5,
  refusedThen: 12,
  byRule: [],
  stepMs: 1000,
  series: [
    { at: '2026-11-22T10:00:00.000Z', requests: 20, refusedNow: 5, refusedThen: 12 },
    { at: '2026-11-22T10:00:01.000Z', requests: 10, refusedNow: 0, refusedThen: 0 },
  ],
};

test('the chart of a preview has what passes and what is refused, now and with the draft', async () => {
  const svg = await chartOf(replay, 'acme');
  for (const text of ['>now<', '>with the draft<', '>passed<', '>refused<', '30 requests of acme']) expect(svg).toContain(text);
});

test('a preview on recorded traffic says for how many requests the recorded ones stand', () => {
  const sample = { from: 'A', to: 'B', recorded: 4, requests: 30, weight: { passed: 25, refused: 1 } };
  expect(inWords({ shadows: [], shadowedBy: [], replay, sample })).toContain(
    '4 recorded requests from A to B stand for 30: one that passed for 25, a refused one for 1.',
  );
});
