/** Random numbers that are the same on every machine for the same seed: a run of the simulation can be repeated. */
export interface Random {
  /** From 0 up to, and without, 1. */
  readonly next: () => number;
  /** A whole number from 0 up to, and without, `below`. */
  below(below: number): number;
  /** Exponentially distributed: the gap between two arrivals that know nothing of each other. */
  exponential(mean: number): number;
}

/**
 * sfc32, "small fast counter" by Chris Doty-Humphrey (PractRand): 128 bits of state, passes the usual batteries.
 *
 * @param seed a whole number
 * @param stream names what the numbers are for, so that one more number drawn here moves nothing elsewhere
 */
export function seededRandom(seed: number, stream = ''): Random {
  const next = sfc32(hash32(`${seed}:${stream}`));
  return {
    next,
    below: (below) => Math.floor(next() * below),
    // 1 - next() is never 0, whose logarithm would be a gap without end.
    exponential: (mean) => -Math.log(1 - next()) * mean,
  };
}

function sfc32(seed: number): () => number {
  let a = seed;
  let b = seed ^ 0x9e3779b9;
  let c = 0x243f6a88;
  let counter = 1;
  const step = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  };
  // The first numbers of neighbouring seeds resemble each other.
  for (let i = 0; i < 15; i++) step();
  return () => step() / 2 ** 32;
}

/** FNV-1a over UTF-16 units, 32 bits: spreads names evenly, for seeds and for sticky sessions. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // FNV alone leaves the low bits of short texts too regular for a modulo.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
