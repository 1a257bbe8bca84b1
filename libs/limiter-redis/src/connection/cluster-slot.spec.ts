import { slotOf } from './cluster-slot.js';

// By CLUSTER KEYSLOT of Redis 7.0; the first one stands in its documentation.
test.each([
  ['somekey', 11058],
  ['foo{hash_tag}', 2515],
  ['bar{hash_tag}', 2515],
  ['123456789', 12739],
  ['', 0],
  ['tg:{acme}h.0', 11304],
  ['{}foo', 9500],
  ['foo{}{bar}', 8363],
  ['foo{{bar}}zap', 4015],
  ['foo{bar}{zap}', 5061],
  ['foo{bar', 15278],
])('the slot of %j is %i', (key, slot) => expect(slotOf(key)).toBe(slot));
