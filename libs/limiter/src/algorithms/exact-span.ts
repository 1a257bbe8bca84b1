/**
 * Exact spans of time. A refill of n tokens every I microseconds makes one token worth I / n microseconds, which is
 * seldom whole (7 a second: 142857 1/7). Rounding each take would drift, so a span keeps its remainder: `whole`
 * microseconds and `part` n-ths of one, 0 <= part < n.
 */
export interface Span {
  readonly whole: number;
  readonly part: number;
}

/** n tokens every intervalUs microseconds, in lowest terms. */
export interface Rate {
  readonly n: number;
  readonly intervalUs: number;
}

export function rateOf(refillTokens: number, refillIntervalMs: number): Rate {
  const intervalUs = refillIntervalMs * 1000;
  const divisor = greatestCommonDivisor(refillTokens, intervalUs);
  return { n: refillTokens / divisor, intervalUs: intervalUs / divisor };
}

/** The time in which `tokens` come back, exactly. */
export function spanOf(tokens: number, rate: Rate): Span {
  const product = tokens * rate.intervalUs;
  if (Number.isSafeInteger(product)) {
    return rate.n === 1 ? { whole: product, part: 0 } : { whole: Math.floor(product / rate.n), part: product % rate.n };
  }
  const exact = BigInt(tokens) * BigInt(rate.intervalUs);
  const n = BigInt(rate.n);
  return { whole: Number(exact / n), part: Number(exact % n) };
}

/** The whole tokens that come back in a span; the inverse of `spanOf`, rounded down. The span is not negative. */
export function tokensIn(whole: number, part: number, rate: Rate): number {
  if (rate.n === 1) return Math.floor(whole / rate.intervalUs);
  const scaled = whole * rate.n + part;
  if (Number.isSafeInteger(scaled)) return Math.floor(scaled / rate.intervalUs);
  return Number((BigInt(whole) * BigInt(rate.n) + BigInt(part)) / BigInt(rate.intervalUs));
}

/** Milliseconds, rounded up, so that whoever waits that long has waited enough. */
export function ceilMs(wholeUs: number, part: number): number {
  return Math.ceil((part > 0 ? wholeUs + 1 : wholeUs) / 1000);
}

export function greatestCommonDivisor(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}
