import { TooManyUnknownError, type KnownApiKey } from '#enforcement';
import { API_KEY_TEXT } from '#platform';
import { createKeyReader } from './api-key.js';
import type { Named } from './caller.js';

const { token, prefix, hash } = API_KEY_TEXT.make();
const KEY: KnownApiKey = {
  apiKey: { id: '7', labels: { team: 'web' } },
  prefix,
  hash,
  merchantId: 'acme',
  user: 'u1',
  untilMs: 1_000,
};

/** A request with these values of Authorization, and of the header for keys. */
const sent = (authorization: readonly string[], inHeader: readonly string[] = []) => ({
  head: { authorizations: authorization.length, authorization: authorization.at(-1) ?? '' },
  peer: '127.0.0.1',
  receivedValues: (name: string) => (name === 'x-api-key' ? inHeader : []),
});

function setUp({ warm = true, nowMs = 999, key = KEY as KnownApiKey | null, error = undefined as Error | undefined, header = '' } = {}) {
  const asked: string[] = [];
  const keys = {
    get: (asks: string) => (warm ? (asks === prefix ? key : null) : undefined),
    load: (asks: string, peer: string) => {
      asked.push(`${asks} ${peer}`);
      return error ? Promise.reject(error) : Promise.resolve(asks === prefix ? key : null);
    },
  };
  const read = createKeyReader({ keys, clientOf: () => '192.0.2.7', header, nowMs: () => nowMs });
  const findIn = (authorization: readonly string[], inHeader: readonly string[]) =>
    new Promise<Named>((resolve) => read(sent(authorization, inHeader), resolve));
  const find = (...values: string[]) => findIn(values, []);
  return { find, findIn, asked };
}

describe('a request with an API key', () => {
  it.each([`Bearer ${token}`, `bearer ${token}`, `Bearer   ${token} `, `Bearer ${token}  `])('is its merchant, by %p', async (value) => {
    const { find, asked } = setUp();
    expect(await find(value)).toMatchObject({ merchantId: 'acme', user: 'u1' });
    expect(asked).toEqual([]);
  });

  it('is answered before anything else runs if the key is at hand', () => {
    let found: Named = 'invalid_api_key';
    const keys = { get: () => KEY, load: () => Promise.reject(new Error('not asked')) };
    const read = createKeyReader({ keys, clientOf: () => '', nowMs: () => 0 });
    read(sent([`Bearer ${token}`]), (by) => (found = by));
    expect(found).toMatchObject({ merchantId: 'acme' });
  });

  it.each<[string, string[], Named]>([
    ['none', [], null],
    ["the upstream's own token", ['Bearer eyJhbGciOiJIUzI1NiJ9.e30.x'], null],
    ['another scheme', [`Basic ${token}`], null],
    ['two headers', ['Basic x', `Bearer ${token}`], 'duplicate_authorization'],
    ['two headers, the second of which is none', [`Bearer ${token}`, 'Basic x'], 'duplicate_authorization'],
    ['another secret behind its prefix', [`Bearer tgk_${prefix}_${API_KEY_TEXT.make().token.slice(-43)}`], 'invalid_api_key'],
    ['a prefix that nobody has', [`Bearer ${API_KEY_TEXT.make().token}`], 'invalid_api_key'],
    ['a text that only begins like one', ['Bearer tgk_'], 'invalid_api_key'],
    ['a list of keys', [`Bearer ${token}, Bearer ${token}`], 'invalid_api_key'],
    ['a key and something behind it', [`Bearer ${token} x`], 'invalid_api_key'],
    ['a key behind a tab', [`Bearer\t${token}`], 'invalid_api_key'],
    ['a huge key', [`Bearer tgk_${'a'.repeat(9_000)}`], 'invalid_api_key'],
    ['a key with bytes beyond ASCII', [`Bearer ${token}\xe4`], 'invalid_api_key'],
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

describe('a header that is configured for keys', () => {
  const header = 'x-api-key';

  it.each<[string, string[], string[], Named | object]>([
    ['one key', [], [token], { merchantId: 'acme' }],
    ["a key beside the upstream's own token", ['Bearer eyJhbGciOiJIUzI1NiJ9.e30.x'], [token], { merchantId: 'acme' }],
    ['nothing', [], [], null],
    ['nothing, and a key in Authorization', [`Bearer ${token}`], [], { merchantId: 'acme' }],
    ['two keys', [], [token, token], 'duplicate_api_key'],
    ['a key, and one in Authorization', [`Bearer ${token}`], [token], 'duplicate_api_key'],
    ['a list', [], [`${token}, ${token}`], 'invalid_api_key'],
    ['an empty text', [], [''], 'invalid_api_key'],
    ['a text that is no key of ours', [], ['secret-of-another-system'], 'invalid_api_key'],
    ['the scheme as well', [], [`Bearer ${token}`], 'invalid_api_key'],
    ['a name of a problem', [], ['duplicate_authorization'], 'invalid_api_key'],
  ])('has %s', async (_what, authorization, inHeader, expected) => {
    const named = await setUp({ header }).findIn(authorization, inHeader);
    if (typeof expected === 'object' && expected !== null) expect(named).toMatchObject(expected);
    else expect(named).toBe(expected);
  });

  it('means nothing where it is not configured', async () => {
    expect(await setUp().findIn([], [token])).toBeNull();
  });
});
