import type { KnownApiKey } from '#enforcement';
import { API_KEY_TEXT } from '#platform';
import { createKeyCheck } from './key-check.js';

const { token, prefix, hash } = API_KEY_TEXT.make();
const known = (): KnownApiKey => ({
  apiKey: { id: '7', labels: {} },
  prefix,
  hash: Buffer.from(hash),
  merchantId: 'acme',
  user: null,
  untilMs: Infinity,
});
const OTHER = `tgk_${prefix}_${API_KEY_TEXT.make().token.slice(-43)}`;

test('a key is the one whose hash is stored, the first time and every other', () => {
  const isKey = createKeyCheck();
  const key = known();
  expect([OTHER, token, token, OTHER, token].map((text) => isKey(text, key))).toEqual([false, true, true, false, true]);
});

test('a key that was seen is not hashed again, and a wrong one is never remembered', () => {
  const isKey = createKeyCheck();
  const key = known();
  isKey(OTHER, key);
  expect(key.seen).toBeUndefined();
  isKey(token, key);
  // Only what was seen still knows it.
  key.hash.fill(0);
  expect([isKey(token, key), isKey(OTHER, key)]).toEqual([true, false]);
});

test('what was seen says nothing of the key, and counts for that reading of it alone', () => {
  const key = known();
  createKeyCheck()(token, key);
  const before = { ...key.seen! };
  const again = known();
  createKeyCheck()(token, again);
  expect(again.seen).not.toEqual(before);
  expect(JSON.stringify(key)).not.toContain(token.slice(-43));
  // Another process has seen it: here it is hashed.
  key.hash.fill(0);
  expect(createKeyCheck()(token, key)).toBe(false);
});
