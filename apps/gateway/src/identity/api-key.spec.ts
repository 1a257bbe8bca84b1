import { TooManyUnknownError, type KnownApiKey } from '#enforcement';
import { API_KEY_TEXT } from '#platform';
import { type ByApiKey, createKeyReader } from './api-key.js';

const { token, prefix, hash } = API_KEY_TEXT.make();
const KEY: KnownApiKey = { id: '7', prefix, hash, merchantId: 'acme', user: 'u1', untilMs: 1_000 };

function setUp({ warm = true, nowMs = 999, key = KEY as KnownApiKey | null, error = undefined as Error | undefined } = {}) {
  const asked: string[] = [];
  const keys = {
    get: (asks: string) => (warm ? (asks === prefix ? key : null) : undefined),
    load: (asks: string, peer: string) => {
      asked.push(`${asks} ${peer}`);
      return error ? Promise.reject(error) : Promise.resolve(asks === prefix ? key : null);
    },
  };
  const read = createKeyReader(
    keys,
    () => '192.0.2.7',
    () => nowMs,
  );
  const find = (...values: string[]) =>
    new Promise<ByApiKey>((resolve) =>
      read({ head: { authorizations: values.length, authorization: values.at(-1) ?? '' }, peer: '127.0.0.1' }, resolve),
    );
  return { find, asked };
}

describe('a request with an API key', () => {
  it.each([`Bearer ${token}`, `bearer ${token}`, `Bearer   ${token} `])('is its merchant, by %p', async (value) => {
    const { find, asked } = setUp();
    expect(await find(value)).toMatchObject({ merchantId: 'acme', user: 'u1' });
    expect(asked).toEqual([]);
  });

  it('is answered before anything else runs if the key is at hand', () => {
    let found: ByApiKey = 'invalid_api_key';
    const read = createKeyReader(
      { get: () => KEY, load: () => Promise.reject(new Error('not asked')) },
      () => '',
      () => 0,
    );
    read({ head: { authorizations: 1, authorization: `Bearer ${token}` }, peer: '' }, (by) => (found = by));
    expect(found).toMatchObject({ merchantId: 'acme' });
  });

  it.each<[string, string[], ByApiKey]>([
    ['none', [], null],
    ["the upstream's own token", ['Bearer eyJhbGciOiJIUzI1NiJ9.e30.x'], null],
    ['another scheme', [`Basic ${token}`], null],
    ['two headers', ['Basic x', `Bearer ${token}`], 'duplicate_api_key'],
    ['two headers, the second of which is none', [`Bearer ${token}`, 'Basic x'], 'duplicate_api_key'],
    ['another secret behind its prefix', [`Bearer tgk_${prefix}_${API_KEY_TEXT.make().token.slice(-43)}`], 'invalid_api_key'],
    ['a prefix that nobody has', [`Bearer ${API_KEY_TEXT.make().token}`], 'invalid_api_key'],
    ['a text that only begins like one', ['Bearer tgk_'], 'invalid_api_key'],
    ['a key that is cut off', [`Bearer ${token.slice(0, -1)}`], 'invalid_api_key'],
  ])('%s', async (_what, values, expected) => {
    expect(await setUp().find(...values)).toEqual(expected);
  });

  it('that has expired is refused from that moment on', async () => {
    expect(await setUp({ nowMs: 999 }).find(`Bearer ${token}`)).toMatchObject({ merchantId: 'acme' });
    expect(await setUp({ nowMs: 1_000 }).find(`Bearer ${token}`)).toBe('invalid_api_key');
  });

  it('that is not at hand is looked up for the address of the client, and judged alike', async () => {
    const { find, asked } = setUp({ warm: false });
    expect(await find(`Bearer ${token}`)).toMatchObject({ merchantId: 'acme' });
    expect(await find(`Bearer ${API_KEY_TEXT.make().token}`)).toBe('invalid_api_key');
    expect(asked).toHaveLength(2);
    expect(asked[0]).toBe(`${prefix} 192.0.2.7`);
    expect(await setUp({ warm: false, nowMs: 1_000 }).find(`Bearer ${token}`)).toBe('invalid_api_key');
  });

  it('is neither known nor refused for good while keys cannot be read', async () => {
    expect(await setUp({ warm: false, error: new Error('away') }).find(`Bearer ${token}`)).toBe('keys_unavailable');
    expect(await setUp({ warm: false, error: new TooManyUnknownError() }).find(`Bearer ${token}`)).toBe('too_many_unknown_keys');
  });
});
