import { errors, exportJWK, generateKeyPair, type JWK } from 'jose';
import { IssuerUnavailableError } from './issuer-fetch.js';
import { KeySet } from './key-set.js';

let first: JWK;
let second: JWK;
beforeAll(async () => {
  const made = async (kid: string) => ({ ...(await exportJWK((await generateKeyPair('ES256')).publicKey)), kid, alg: 'ES256' });
  [first, second] = await Promise.all([made('first'), made('second')]);
});

function setUp() {
  const state = { keys: [first] as readonly JWK[], text: undefined as string | undefined, away: false, asked: 0, nowMs: 0 };
  const later: { work: () => void; ms: number }[] = [];
  const http = {
    fetch: () => {
      state.asked++;
      if (state.away) return Promise.reject(new IssuerUnavailableError('away'));
      return Promise.resolve(new Response(state.text ?? JSON.stringify({ keys: state.keys })));
    },
  };
  const set = new KeySet({
    url: 'https://login.example.com/keys',
    http,
    now: () => state.nowMs,
    schedule: (work, ms) => (later.push({ work, ms }), setTimeout(() => {}, 0)),
  });
  const find = (kid: string) =>
    Promise.resolve(set.keyFor({ alg: 'ES256', kid }, { payload: '', signature: '' })).then(
      () => 'found',
      (error: Error) => error.constructor,
    );
  /** What was planned for later happens now. */
  const refreshed = async () => {
    later.pop()!.work();
    for (let i = 0; i < 20; i++) await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { set, state, later, find, refreshed };
}

describe('the keys of an issuer', () => {
  it('are fetched once for all tokens', async () => {
    const { set, state, find } = setUp();
    await set.open();
    expect(await Promise.all([find('first'), find('first'), find('first')])).toEqual(['found', 'found', 'found']);
    expect(state.asked).toBe(1);
  });

  it('that are new are found at once, by one fetch for all that wait', async () => {
    const { set, state, find } = setUp();
    await set.open();
    state.keys = [first, second];
    expect(await Promise.all([find('second'), find('second'), find('first')])).toEqual(['found', 'found', 'found']);
    expect(state.asked).toBe(2);
  });

  it('are said to be as old as they are, and not to be fetched while their issuer is away', async () => {
    const { set, state, refreshed } = setUp();
    state.away = true;
    await set.open();
    expect(() => set.assertFetched()).toThrow(/no key is known/);
    expect([set.ageSeconds, set.counts]).toEqual([0, { fetched: 0, failed: 1 }]);
    state.away = false;
    await refreshed();
    state.nowMs += 90_000;
    expect(() => set.assertFetched()).not.toThrow();
    expect([set.ageSeconds, set.counts]).toEqual([90, { fetched: 1, failed: 1 }]);
    state.away = true;
    await refreshed();
    expect(() => set.assertFetched()).toThrow(/the keys that are known go on/);
    expect([set.ageSeconds, set.counts]).toEqual([90, { fetched: 1, failed: 2 }]);
  });

  it('that nobody has make the issuer be asked once in ten seconds at most', async () => {
    const { set, state, find } = setUp();
    await set.open();
    for (let i = 0; i < 50; i++) expect(await find(`invented ${i}`)).toBe(errors.JWKSNoMatchingKey);
    expect(state.asked).toBe(2);
    state.nowMs = 10_000;
    for (let i = 0; i < 50; i++) expect(await find(`invented ${i}`)).toBe(errors.JWKSNoMatchingKey);
    expect(state.asked).toBe(3);
  });

  it('go on while they cannot be fetched, and nothing is said of others', async () => {
    const { set, state, find, refreshed, later } = setUp();
    await set.open();
    state.away = true;
    await refreshed();
    expect(await find('first')).toBe('found');
    for (let i = 0; i < 5; i++) expect(await find('second')).toBe(IssuerUnavailableError);
    expect(state.asked).toBe(3);
    // Soon again, and then the new one is there.
    expect(later).toMatchObject([{ ms: 10_000 }]);
    Object.assign(state, { away: false, keys: [second], nowMs: 20_000 });
    await refreshed();
    expect([await find('second'), await find('first')]).toEqual(['found', errors.JWKSNoMatchingKey]);
  });

  it('that were withdrawn are refused once they have been fetched again, whether somebody came or not', async () => {
    const { set, state, find, refreshed, later } = setUp();
    await set.open();
    expect(later).toMatchObject([{ ms: 300_000 }]);
    state.keys = [second];
    await refreshed();
    expect(await find('first')).toBe(errors.JWKSNoMatchingKey);
  });

  it.each(['no JSON', '[]', '{"keys":7}', '{"keys":[]}', '{}'])('are not given up for %s', async (text) => {
    const { set, state, find, refreshed } = setUp();
    await set.open();
    state.text = text;
    await refreshed();
    expect(await find('first')).toBe('found');
  });

  it('are fetched for the first token if they could not be before', async () => {
    const { set, state, find } = setUp();
    state.away = true;
    await set.open();
    expect(await find('first')).toBe(IssuerUnavailableError);
    state.away = false;
    expect(await find('first')).toBe('found');
  });

  it('are not fetched any more once it is closed', async () => {
    const { set, later } = setUp();
    set.close();
    await set.open();
    expect(later).toEqual([]);
  });
});
