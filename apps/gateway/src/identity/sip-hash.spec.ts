import { SipHash } from './sip-hash.js';

const KEY = Buffer.from(Array.from({ length: 16 }, (_, i) => i));

/** The text of the bytes 0, 1, 2, ..., and the eight bytes of its hash. */
const hashOf = (length: number, key = KEY): string => {
  const sip = new SipHash(key);
  sip.hash(String.fromCharCode(...Array.from({ length }, (_, i) => i)));
  const bytes = Buffer.alloc(8);
  bytes.writeInt32LE(sip.low, 0);
  bytes.writeInt32LE(sip.high, 4);
  return bytes.toString('hex');
};

describe('SipHash-2-4', () => {
  // Of the reference implementation (veorq/SipHash, vectors.h) and of the paper, appendix A.
  it.each([
    [0, '310e0edd47db6f72'],
    [1, 'fd67dc93c539f874'],
    [2, '5a4fa9d909806c0d'],
    [3, '2d7efbd796666785'],
    [7, '37d1018bf50002ab'],
    [8, '6224939a79f5f593'],
    [15, 'e545be4961ca29a1'],
    [16, 'db9bc2577fcc2a3f'],
    [63, '724506eb4c328a95'],
  ])('of %i bytes is that of the reference', (length, hash) => {
    expect(hashOf(length)).toBe(hash);
  });

  it('is another one by another key', () => {
    expect(hashOf(15, Buffer.alloc(16))).not.toBe(hashOf(15));
  });
});
