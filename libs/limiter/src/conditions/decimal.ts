/** A number in decimal notation, exactly as it was written: neither 0.1 + 0.2 nor an amount of twenty digits is rounded. */
export interface Decimal {
  readonly negative: boolean;
  /** Digits before the point, without leading zeros. */
  readonly whole: string;
  /** Digits behind the point, without trailing zeros. */
  readonly fraction: string;
}

const DECIMAL_TEXT = /^-?\d+(?:\.\d+)?$/;

/** Reads a decimal text like `-12.50`; undefined for everything else: a sign `+`, an exponent, spaces, `.5`. */
export function decimalOf(text: string): Decimal | undefined {
  if (!DECIMAL_TEXT.test(text)) return undefined;
  const negative = text.startsWith('-');
  const [whole = '', fraction = ''] = (negative ? text.slice(1) : text).split('.');
  return decimal(negative, whole, fraction);
}

/** A finite number by its shortest spelling, which is what somebody wrote in JSON. */
export function decimalOfNumber(value: number): Decimal {
  const [digits = '', exponent = '0'] = String(Math.abs(value)).split('e');
  const [whole = '', fraction = ''] = digits.split('.');
  const shift = Number(exponent);
  const all = whole + fraction;
  const point = whole.length + shift;
  const padded = point < 0 ? '0'.repeat(-point) + all : all.padEnd(point, '0');
  const at = Math.max(0, point);
  return decimal(value < 0, padded.slice(0, at), padded.slice(at));
}

const JSON_NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Places before or behind the point. A number that has more of them counts as one of so many, so that an exponent of any size costs nothing. */
const MOST_PLACES = 1000;

/** A number as JSON writes it, with an exponent perhaps, digit by digit. */
export function decimalOfJson(text: string): Decimal {
  const [, sign, before = '', behind = '', exponent = '0'] = JSON_NUMBER.exec(text) ?? [];
  const { whole, fraction } = decimal(false, before, behind);
  const significant = decimal(false, whole + fraction, '').whole;
  if (significant === '') return decimal(false, '', '');
  // Where the point stands, counted from the first digit that is not 0.
  const point = whole.length - (whole.length + fraction.length - significant.length) + Number(exponent);
  const at = Math.max(-MOST_PLACES, Math.min(MOST_PLACES, point));
  const digits = at < 0 ? '0'.repeat(-at) + significant : significant.padEnd(at, '0');
  return decimal(sign === '-', digits.slice(0, Math.max(0, at)), digits.slice(Math.max(0, at)));
}

/** In one spelling for each value. */
export function decimalText({ negative, whole, fraction }: Decimal): string {
  return `${negative ? '-' : ''}${whole === '' ? '0' : whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Negative if `a` is less than `b`, 0 if they are equal. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.negative !== b.negative) return a.negative ? -1 : 1;
  const size = a.whole.length - b.whole.length || compareTexts(a.whole, b.whole) || compareTexts(a.fraction, b.fraction);
  return a.negative ? -size : size;
}

function decimal(negative: boolean, digitsBefore: string, digitsBehind: string): Decimal {
  let start = 0;
  while (start < digitsBefore.length && digitsBefore.charCodeAt(start) === ZERO) start++;
  let end = digitsBehind.length;
  while (end > 0 && digitsBehind.charCodeAt(end - 1) === ZERO) end--;
  const whole = digitsBefore.slice(start);
  const fraction = digitsBehind.slice(0, end);
  return { negative: negative && (whole !== '' || fraction !== ''), whole, fraction };
}

const ZERO = 0x30;

/** Digits of the same place: the shorter of two that begin alike is the smaller. */
function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
