import { failed } from './shared/command-error.js';
import { follow, lineOf } from './tail.js';

const decisions = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => ({ requestId: `r${from + i}` }));

/** Follows these answers one after the other; then it ends. */
async function followed(
  answers: readonly (object | Error)[],
  { limit = Infinity, after, sinceMs }: { limit?: number; after?: string; sinceMs?: number } = {},
) {
  const ending = new AbortController();
  const asked: [string | undefined, number][] = [];
  const seen: unknown[] = [];
  const page = async (cursor: string | undefined, most: number) => {
    asked.push([cursor, most]);
    const answer = answers[asked.length - 1];
    if (asked.length >= answers.length) ending.abort();
    if (answer instanceof Error) throw answer;
    return (await Promise.resolve(answer)) as { items: Record<string, unknown>[]; cursor: string };
  };
  const cursor = await follow(
    { page, after, limit, sinceMs, pauseMs: 0, signal: ending.signal },
    ({ requestId }) => void seen.push(requestId),
  );
  return { asked, seen, cursor };
}

describe('tollgate tail', () => {
  it('goes on from the cursor of each answer, and says where it ended', async () => {
    const answers = [
      { items: decisions(0, 2), cursor: '2-0' },
      { items: [], cursor: '2-0' },
      { items: decisions(2, 3), cursor: '3-0' },
    ];
    expect(await followed(answers, { after: '0-0' })).toEqual({
      asked: [
        ['0-0', 200],
        ['2-0', 200],
        ['2-0', 200],
      ],
      seen: ['r0', 'r1', 'r2'],
      cursor: '3-0',
    });
  });

  it('ends after as many lines as it was asked for, over several pages', async () => {
    const answers = [{ items: decisions(0, 200), cursor: 'a' }, { items: decisions(200, 250), cursor: 'b' }, {}];
    const { asked, seen } = await followed(answers, { limit: 250, after: '0-0' });
    expect([asked, seen.length]).toEqual([
      [
        ['0-0', 200],
        ['a', 50],
      ],
      250,
    ]);
  });

  it('begins behind what is there when nobody says from where on', async () => {
    const answers = [
      { items: decisions(0, 1), cursor: '7-0' },
      { items: decisions(1, 2), cursor: '8-0' },
      { items: [], cursor: '8-0' },
    ];
    expect(await followed(answers)).toEqual({
      asked: [
        [undefined, 1],
        ['7-0', 200],
        ['8-0', 200],
      ],
      seen: ['r1'],
      cursor: '8-0',
    });
  });

  it('leaves out decisions of before the moment at which it begins: they were written down later', async () => {
    const at = (requestId: string, ms: number) => ({ requestId, at: new Date(ms).toISOString() });
    const answers = [
      { items: [at('r0', 999), at('r1', 1000), { requestId: 'r2' }], cursor: '1001-0' },
      { items: [], cursor: '1001-0' },
    ];
    expect(await followed(answers, { after: '1000-0', sinceMs: 1000 })).toMatchObject({ seen: ['r1', 'r2'] });
  });

  it('asks again when a server that has answered fails, and fails with one that never did', async () => {
    const answers = [{ items: decisions(0, 1), cursor: 'a' }, failed('Refused (503).'), { items: decisions(1, 2), cursor: 'b' }];
    expect(await followed(answers, { after: '0-0' })).toMatchObject({ seen: ['r0', 'r1'], cursor: 'b' });
    await expect(followed([failed('Refused (403).'), { items: [] }])).rejects.toThrow('Refused (403).');
    await expect(followed([{ items: [], cursor: 'a' }, new TypeError('a bug'), {}])).rejects.toThrow('a bug');
  });

  it('prints one line a decision, whatever is in it', () => {
    const limits = [
      { ruleId: '17', rule: 'card payments', limit: 'burst', allowed: false },
      { ruleId: '18', rule: 'other', limit: 'day', allowed: true },
    ];
    const decision = { at: '2026-11-22T10:00:00.000Z', merchantId: 'acme', requestId: 'r1', method: 'POST', path: '/x\n\u001b[2J' };
    expect(lineOf({ ...decision, reason: 'over_limit', limits, retryAfterMs: 200 })).toBe(
      '2026-11-22T10:00:00.000Z  acme  r1  POST  /x  [2J  over_limit  rule 17 "card payments" burst  passes in 200 ms',
    );
    expect(lineOf({})).toBe('-  -  -  -  -  -');
  });
});
