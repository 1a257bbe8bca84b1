import type { Rate } from './exact-span.js';

/**
 * An exact number of tokens, whole + part / of with 0 <= part < of: what is missing from a bucket, as an edit carries it over.
 * Sums of doubles would lose a token now and then, and once in a while make one.
 */
export interface Amount {
  readonly whole: number;
  readonly part: number;
  readonly of: number;
}

export const NOTHING: Amount = { whole: 0, part: 0, of: 1 };

export const wholeAmount = (whole: number): Amount => (whole === 0 ? NOTHING : { whole, part: 0, of: 1 });

/** Rounded against the caller: a token of which a part is missing is not there. */
export const roundedUp = ({ whole, part }: Amount): number => (part > 0 ? whole + 1 : whole);

/** floor(a * b / c) and what is left of the division, exactly. Whole numbers, not negative; c > 0. */
export function mulDiv(a: number, b: number, c: number): { readonly quotient: number; readonly rest: number } {
  const product = a * b;
  if (Number.isSafeInteger(product)) {
    const rest = product % c;
    return { quotient: (product - rest) / c, rest };
  }
  const exact = BigInt(a) * BigInt(b);
  const divisor = BigInt(c);
  return { quotient: Number(exact / divisor), rest: Number(exact % divisor) };
}

/** The tokens that come back in a debt of time: `debtUs` + part / n microseconds. A negative debt is a surplus. */
export function tokensOfDebt(debtUs: number, part: number, { n, intervalUs }: Rate): Amount {
  const { quotient, rest } = mulDiv(Math.abs(debtUs), n, intervalUs);
  const over = (debtUs < 0 ? -rest : rest) + part;
  const carry = Math.floor(over / intervalUs);
  return { whole: (debtUs < 0 ? 0 - quotient : quotient) + carry, part: over - carry * intervalUs, of: intervalUs };
}

/** The n-ths of a microsecond in which a fraction of a token comes back, rounded up. */
export function debtOfFraction({ part, of }: Amount, { intervalUs }: Rate): number {
  const { quotient, rest } = mulDiv(part, intervalUs, of);
  return rest > 0 ? quotient + 1 : quotient;
}

export function plus(amount: Amount, tokens: number): Amount {
  return { ...amount, whole: amount.whole + tokens };
}

export function atLeastNothing(amount: Amount): Amount {
  return amount.whole < 0 ? NOTHING : amount;
}

/** amount * times / by, rounded up to the next of-th of a token. The amount is not negative and at most `by`. */
export function scaled({ whole, part, of }: Amount, times: number, by: number): Amount {
  // (whole + part / of) * times = product of whole numbers + (fraction.quotient + fraction.rest / of)
  const tokens = mulDiv(whole, times, by);
  const fraction = mulDiv(part, times, of);
  const left = tokens.rest + fraction.quotient;
  const carried = Math.floor(left / by);
  const parts = mulDiv(left - carried * by, of, by);
  const newPart = parts.quotient + Math.ceil((parts.rest + fraction.rest) / by);
  const full = Math.floor(newPart / of);
  return { whole: tokens.quotient + carried + full, part: newPart - full * of, of };
}
