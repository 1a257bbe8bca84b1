import { LookupAllowance } from '../rules/lookup-allowance.js';
import { RulesUnavailableError, TooManyUnknownError } from '../rules/rule-source.js';
import type { KnownApiKey } from './api-key-source.js';
import { ApiKeys } from './api-keys.js';

const key = (prefix: string, merchantId = 'acme', labels: Record<string, string> = {}): KnownApiKey => ({
  apiKey: { id: prefix, labels },
  prefix,
  hash: Buffer.alloc(32),
  merchantId,
  user: null,
  untilMs: Infinity,
});

function setUp({ maxBytes = 1_000_000, deadlineMs = 1_000 } = {}) {
  const stored = new Map<string, KnownApiKey>();
  const asked: string[][] = [];
  const clock = { nowMs: 0 };
  const state = { away: false, hold: undefined as Promise<void> | undefined, later: [] as (() => void)[] };
  const now = () => clock.nowMs;
  const keys = new ApiKeys({
    source: {
      apiKeys: async (prefixes) => {
        asked.push([...prefixes]);
        // What is committed when the question arrives is what is answered.
        const found = prefixes.flatMap((prefix) => stored.get(prefix) ?? []);
        await state.hold;
        if (state.away) throw new Error('away');
        return found;
      },
    },
    unknown: new LookupAllowance({ perSecond: 20, perPeerPerSecond: 5, atOnce: 4, now }),
    maxBytes,
    deadlineMs,
    now,
    schedule: (work) => (state.later.push(work), undefined as unknown as NodeJS.Timeout),
  });
  const store = (...some: KnownApiKey[]) => some.forEach((one) => stored.set(one.prefix, one));
  /** Everything that is under way in this process and waits for nothing else. */
  const settled = async () => {
    for (let i = 0; i < 20; i++) await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { keys, stored, store, asked, clock, state, settled };
}

describe('the API keys in use', () => {
  it('are looked up once, also when many requests come at once', async () => {
    const { keys, store, asked } = setUp();
    store(key('a'));
    expect(keys.get('a')).toBeUndefined();
    const loaded = await Promise.all([1, 2, 3].map(() => keys.load('a', '192.0.2.1')));
    expect(loaded.map((each) => each?.merchantId)).toEqual(['acme', 'acme', 'acme']);
    expect(keys.get('a')).toMatchObject({ prefix: 'a' });
    expect(asked).toEqual([['a']]);
  });

  it('that were revoked are forgotten when their merchant has changed, beside the requests', async () => {
    const { keys, stored, store, state, settled } = setUp();
    store(key('a'), key('b', 'other'));
    for (const prefix of ['a', 'b']) await keys.load(prefix, '::1');
    stored.clear();
    let answer = () => {};
    state.hold = new Promise((resolve) => (answer = resolve));
    keys.changed('acme');
    await settled();
    expect(keys.get('a')).toMatchObject({ prefix: 'a' });
    answer();
    await settled();
    expect(keys.get('a')).toBeUndefined();
    expect(keys.get('b')).toMatchObject({ prefix: 'b' });
    keys.changedSome((merchantId) => merchantId === 'other');
    await settled();
    expect(keys.get('b')).toBeUndefined();
  });

  it('whose labels have changed have the new ones as soon as their merchant has changed', async () => {
    const { keys, store, settled } = setUp();
    store(key('a', 'acme', { team: 'web' }));
    await keys.load('a', '::1');
    store(key('a', 'acme', { team: 'risk' }));
    keys.changed('acme');
    await settled();
    expect(keys.get('a')?.apiKey).toEqual({ id: 'a', labels: { team: 'risk' } });
  });

  it('that change while they are read for the first time are read again', async () => {
    const { keys, stored, store, state, settled } = setUp();
    store(key('a'));
    let answer = () => {};
    state.hold = new Promise((resolve) => (answer = resolve));
    const loading = keys.load('a', '::1');
    await settled();
    stored.clear();
    keys.changed('acme');
    answer();
    expect(await loading).toMatchObject({ prefix: 'a' });
    await settled();
    expect(keys.get('a')).toBeUndefined();
  });

  it('go on as they were while the source is away, and are read again when it is back', async () => {
    const { keys, stored, store, state, settled } = setUp();
    store(key('a'));
    await keys.load('a', '::1');
    state.away = true;
    stored.clear();
    keys.changed('acme');
    await settled();
    expect(keys.get('a')).toMatchObject({ prefix: 'a' });
    await expect(keys.load('b', '::1')).rejects.toThrow(RulesUnavailableError);
    state.away = false;
    for (const retry of state.later) retry();
    await settled();
    expect(keys.get('a')).toBeUndefined();
  });

  it('that do not exist are not asked for again for a second', async () => {
    const { keys, store, asked, clock } = setUp();
    expect(await keys.load('a', '::1')).toBeNull();
    expect(keys.get('a')).toBeNull();
    store(key('a'));
    clock.nowMs += 1_000;
    expect(keys.get('a')).toBeUndefined();
    expect(await keys.load('a', '::1')).toMatchObject({ prefix: 'a' });
    expect(asked).toHaveLength(2);
  });

  it('a flood of prefixes of no key is bounded, and costs other addresses and known keys nothing', async () => {
    const { keys, store, asked } = setUp();
    store(key('known'), key('new'));
    await keys.load('known', '192.0.2.1');
    const tries = [];
    for (let i = 0; i < 100; i++) tries.push(await keys.load(`x${i}`, '192.0.2.1').catch((error: unknown) => error));
    expect(tries.filter((each) => each === null)).toHaveLength(5);
    expect(tries.filter((each) => each instanceof TooManyUnknownError)).toHaveLength(95);
    expect(asked).toHaveLength(6);
    expect(keys.get('known')).toMatchObject({ prefix: 'known' });
    expect(await keys.load('new', '192.0.2.2')).toMatchObject({ prefix: 'new' });
  });

  it('any number of keys that exist may come from one address', async () => {
    const { keys, store } = setUp();
    for (let i = 0; i < 50; i++) {
      store(key(`a${i}`));
      expect(await keys.load(`a${i}`, '192.0.2.1')).toMatchObject({ prefix: `a${i}` });
    }
  });

  it('are bounded in memory, and so is what is remembered of their merchants', async () => {
    const { keys, store, settled, asked } = setUp({ maxBytes: 100_000 });
    for (let i = 0; i < 5_000; i++) {
      store(key(`a${i}`, `m${i}`));
      await keys.load(`a${i}`, '192.0.2.1');
    }
    expect(keys.size).toBe(100);
    asked.length = 0;
    keys.changedSome(() => true);
    await settled();
    expect(asked.flat()).toHaveLength(100);
  });

  it('take more memory the more labels they have', async () => {
    const { keys, store } = setUp({ maxBytes: 100_000 });
    const labels = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`label-${i}`.padEnd(63, 'x'), 'y'.repeat(63)]));
    for (let i = 0; i < 200; i++) {
      store(key(`a${i}`, 'acme', labels));
      await keys.load(`a${i}`, '192.0.2.1');
    }
    // 1,000 bytes, and for each label 100 and two for each character.
    expect(keys.size).toBe(Math.floor(100_000 / (1_000 + 16 * (100 + 2 * 126))));
  });

  it('of which very many change are read a few hundred at a time', async () => {
    const { keys, store, asked, settled } = setUp({ maxBytes: 10_000_000 });
    for (let i = 0; i < 1_200; i++) {
      store(key(`a${i}`, `m${i}`));
      await keys.load(`a${i}`, '192.0.2.1');
    }
    asked.length = 0;
    keys.changedSome(() => true);
    for (let i = 0; i < 5; i++) await settled();
    expect(asked.map((some) => some.length)).toEqual([500, 500, 200]);
  });
});
