export const SLOTS = 16_384;

/**
 * The slot of a key in a Redis Cluster: CRC16 (XMODEM) of what stands in its first braces, or of all of it where nothing does. All of our keys
 * are ASCII. By hand, because a take in a cluster needs it and ioredis' cluster-key-slot costs five times as much (decision 0099).
 */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  const [from, to] = close > open + 1 ? [open + 1, close] : [0, key.length];
  let crc = 0;
  for (let i = from; i < to; i++) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ key.charCodeAt(i)]!;
  return crc % SLOTS;
}

/** What stands in the braces of one of our keys, with them and what is before; empty if there are none. Keys of one tag lie in one slot. */
export function tagOf(key: string): string {
  return key.slice(0, key.indexOf('}') + 1);
}

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  return crc;
});
