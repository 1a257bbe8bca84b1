/**
 * SHA-256 (FIPS 180-4) over the UTF-16 code units of a text, as far as a bucket key needs it: 144 bits. Here and not from a package, because the limiter runs
 * wherever JavaScript does, and needs it at once.
 *
 * @returns 24 characters of base64url
 */
export function digestOf(text: string): string {
  const hash = Uint32Array.from(INITIAL);
  const words = paddedWords(text);
  for (let at = 0; at < words.length; at += 16) compress(hash, words.subarray(at, at + 16));
  let out = '';
  for (let bit = 0; bit < 144; bit += 6) out += BASE64URL[bitsAt(hash, bit)]!;
  return out;
}

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The first 32 bits behind the point of the cube roots, or square roots, of the first primes. */
const [CONSTANTS, INITIAL] = rootsOfPrimes();

/** Big-endian code units, a bit 1, zeros, and the length in bits. */
function paddedWords(text: string): Uint32Array {
  const units = text.length;
  const blocks = Math.ceil((units * 2 + 9) / 64);
  const words = new Uint32Array(blocks * 16);
  for (let i = 0; i < units; i++) words[i >> 1]! |= text.charCodeAt(i) << (i % 2 === 0 ? 16 : 0);
  words[units >> 1]! |= 0x8000 << (units % 2 === 0 ? 16 : 0);
  words[words.length - 2] = Math.floor((units * 16) / 2 ** 32);
  words[words.length - 1] = (units * 16) >>> 0;
  return words;
}

const schedule = new Uint32Array(64);

function compress(hash: Uint32Array, block: Uint32Array): void {
  schedule.set(block);
  for (let i = 16; i < 64; i++) {
    const [x, y] = [schedule[i - 15]!, schedule[i - 2]!];
    const s0 = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3);
    const s1 = rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10);
    schedule[i] = schedule[i - 16]! + s0 + schedule[i - 7]! + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let i = 0; i < 64; i++) {
    const t1 = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + CONSTANTS[i]! + schedule[i]!) | 0;
    const t2 = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((value, i) => (hash[i]! += value));
}

function rotated(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

/** Six bits from a position on; words are of 32 bits, so they may lie in two. */
function bitsAt(words: Uint32Array, bit: number): number {
  const [word, offset] = [bit >> 5, bit & 31];
  const two = ((words[word]! << offset) | (offset === 0 ? 0 : words[word + 1]! >>> (32 - offset))) >>> 0;
  return two >>> 26;
}

function rootsOfPrimes(): [Uint32Array, Uint32Array] {
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  const fractionOf = (root: number) => Math.floor((root - Math.floor(root)) * 2 ** 32);
  return [
    Uint32Array.from(primes, (prime) => fractionOf(Math.cbrt(prime))),
    Uint32Array.from(primes.slice(0, 8), (prime) => fractionOf(Math.sqrt(prime))),
  ];
}
