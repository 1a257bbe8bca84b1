/** The state is four numbers of 64 bits, each as two halves of 32, the lower one first. */
const V0 = 0;
const V1 = 2;
const V2 = 4;
const V3 = 6;

/**
 * SipHash-2-4 (Aumasson and Bernstein, 2012): 64 bits of a text, which nobody can foresee or bring about without the 128 bits of the key. It takes one time for all texts
 * of a length, and no memory. The result is in `low` and `high` until the next text.
 */
export class SipHash {
  low = 0;
  high = 0;
  private readonly state = new Int32Array(8);
  private readonly key: Int32Array;

  /** @param key of 16 bytes */
  constructor(key: Buffer) {
    this.key = Int32Array.of(key.readInt32LE(0), key.readInt32LE(4), key.readInt32LE(8), key.readInt32LE(12));
  }

  /** @param text whose characters are bytes */
  hash(text: string): void {
    const { state } = this;
    this.begin();
    const whole = text.length & ~7;
    for (let i = 0; i < whole; i += 8) this.take(fourBytes(text, i), fourBytes(text, i + 4));
    // What is left of the text, and behind it the last byte of its length.
    this.take(fourBytes(text, whole), fourBytes(text, whole + 4) | (text.length << 24));
    state[V2]! ^= 0xff;
    for (let i = 0; i < 4; i++) round(state);
    this.low = state[V0]! ^ state[V1]! ^ state[V2]! ^ state[V3]!;
    this.high = state[V0 + 1]! ^ state[V1 + 1]! ^ state[V2 + 1]! ^ state[V3 + 1]!;
  }

  private begin(): void {
    const { key, state } = this;
    for (let half = 0; half < 2; half++) {
      state[V0 + half] = key[half]! ^ (half === 0 ? 0x70736575 : 0x736f6d65);
      state[V1 + half] = key[2 + half]! ^ (half === 0 ? 0x6e646f6d : 0x646f7261);
      state[V2 + half] = key[half]! ^ (half === 0 ? 0x6e657261 : 0x6c796765);
      state[V3 + half] = key[2 + half]! ^ (half === 0 ? 0x79746573 : 0x74656462);
    }
  }

  private take(low: number, high: number): void {
    const { state } = this;
    state[V3]! ^= low;
    state[V3 + 1]! ^= high;
    round(state);
    round(state);
    state[V0]! ^= low;
    state[V0 + 1]! ^= high;
  }
}

/** Beyond the end of the text there are zeros. */
function fourBytes(text: string, at: number): number {
  const end = text.length;
  if (at + 4 <= end)
    return text.charCodeAt(at) | (text.charCodeAt(at + 1) << 8) | (text.charCodeAt(at + 2) << 16) | (text.charCodeAt(at + 3) << 24);
  let bytes = 0;
  for (let i = 0; at + i < end; i++) bytes |= text.charCodeAt(at + i) << (8 * i);
  return bytes;
}

function round(v: Int32Array): void {
  add(v, V0, V1);
  rotateAndMix(v, V1, 13, V0);
  swapHalves(v, V0);
  add(v, V2, V3);
  rotateAndMix(v, V3, 16, V2);
  add(v, V0, V3);
  rotateAndMix(v, V3, 21, V0);
  add(v, V2, V1);
  rotateAndMix(v, V1, 17, V2);
  swapHalves(v, V2);
}

function add(v: Int32Array, to: number, what: number): void {
  const before = v[to]! >>> 0;
  const low = (before + (v[what]! >>> 0)) >>> 0;
  v[to] = low;
  v[to + 1] = v[to + 1]! + v[what + 1]! + (low < before ? 1 : 0);
}

/** @param bits fewer than 32 */
function rotateAndMix(v: Int32Array, at: number, bits: number, other: number): void {
  const low = v[at]!;
  const high = v[at + 1]!;
  v[at] = ((low << bits) | (high >>> (32 - bits))) ^ v[other]!;
  v[at + 1] = ((high << bits) | (low >>> (32 - bits))) ^ v[other + 1]!;
}

function swapHalves(v: Int32Array, at: number): void {
  const low = v[at]!;
  v[at] = v[at + 1]!;
  v[at + 1] = low;
}
