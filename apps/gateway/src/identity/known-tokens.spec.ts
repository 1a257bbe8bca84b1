import { idOf, KnownTokens } from './known-tokens.js';
import type { CheckedToken } from './token-check.js';

const good = (claims = '{}', untilMs = 1_000_000): CheckedToken => ({ named: { merchantId: 'acme', user: null, claims }, untilMs });

function setUp({ maxBytes = 100_000 } = {}) {
  const clock = { nowMs: 0, runningMs: 0 };
  const state = { answer: good(), hold: undefined as Promise<void> | undefined };
  const checked: string[] = [];
  const tokens = new KnownTokens({
    check: async (token) => {
      checked.push(token);
      await state.hold;
      return state.answer;
    },
    maxBytes,
    nowMs: () => clock.nowMs,
    running: () => clock.runningMs,
  });
  /** As a request does. */
  const ask = async (token: string) => tokens.get(idOf(token)) ?? tokens.check(idOf(token), token);
  return { tokens, clock, state, checked, ask };
}

describe('a token', () => {
  it('is checked once, also when many requests come at once', async () => {
    const { ask, checked, tokens } = setUp();
    await Promise.all([ask('a'), ask('a'), ask('a')]);
    expect(await ask('a')).toMatchObject({ merchantId: 'acme' });
    expect(checked).toEqual(['a']);
    // It is known by its hash alone.
    expect(tokens.get('a')).toBeUndefined();
  });

  it('is believed until it ends', async () => {
    const { ask, clock, state } = setUp();
    state.answer = good('{}', 60_000);
    await ask('a');
    state.answer = { named: 'expired_token', untilMs: Infinity };
    clock.nowMs = 59_999;
    expect(await ask('a')).toMatchObject({ merchantId: 'acme' });
    clock.nowMs = 60_000;
    expect(await ask('a')).toBe('expired_token');
    expect(await ask('a')).toBe('expired_token');
  });

  it('is checked again after five minutes: its key may have been withdrawn', async () => {
    const { ask, clock, state } = setUp();
    await ask('a');
    state.answer = { named: 'invalid_token', untilMs: Infinity };
    clock.runningMs = 299_999;
    expect(await ask('a')).toMatchObject({ merchantId: 'acme' });
    clock.runningMs = 300_000;
    expect(await ask('a')).toBe('invalid_token');
  });

  it('that is wrong is refused without a check for a second, and then judged anew', async () => {
    const { ask, clock, state, checked } = setUp();
    state.answer = { named: 'token_not_yet_valid', untilMs: Infinity };
    for (let i = 0; i < 5; i++) expect(await ask('a')).toBe('token_not_yet_valid');
    expect(checked).toHaveLength(1);
    clock.runningMs = 1_000;
    state.answer = good();
    expect(await ask('a')).toMatchObject({ merchantId: 'acme' });
  });

  it('of which nobody can say anything is asked for again at once', async () => {
    const { ask, state, checked } = setUp();
    state.answer = { named: 'token_keys_unavailable', untilMs: Infinity };
    expect([await ask('a'), await ask('a')]).toEqual(['token_keys_unavailable', 'token_keys_unavailable']);
    expect(checked).toHaveLength(2);
  });
});

it('good tokens are bounded in memory, by their claims as well', async () => {
  const { ask, tokens, state } = setUp();
  state.answer = good('x'.repeat(200));
  for (let i = 0; i < 500; i++) await ask(`token ${i}`);
  expect(tokens.size).toBe(100);
});

it('a flood of wrong tokens pushes no good one out, and is bounded', async () => {
  const { ask, state, checked } = setUp();
  await ask('known');
  state.answer = { named: 'invalid_token', untilMs: Infinity };
  for (let i = 0; i < 10_000; i++) await ask(`junk ${i}`);
  checked.length = 0;
  expect(await ask('known')).toMatchObject({ merchantId: 'acme' });
  expect(checked).toEqual([]);
});

it('beyond a thousand that wait for a check, tokens are refused without one', async () => {
  const { ask, state, checked } = setUp();
  let go = () => {};
  state.hold = new Promise((resolve) => (go = resolve));
  const asking = Array.from({ length: 1_100 }, (_, i) => ask(`token ${i}`));
  expect(await asking.at(-1)).toBe('too_many_tokens');
  expect(checked).toHaveLength(8);
  go();
  const named = await Promise.all(asking);
  expect(named.filter((each) => each === 'too_many_tokens')).toHaveLength(1_100 - 1_008);
});
