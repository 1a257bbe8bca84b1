import { addressOf, addressRange } from './address-range.js';
import type { FieldCondition, Operator, Scalar } from './condition.js';
import { compareDecimals, decimalOf, decimalOfNumber, decimalText, type Decimal } from './decimal.js';
import { type FieldScalar, type FieldValue, isSeveral } from './field-value.js';
import { globMatcher } from './glob.js';
import { caseFolded, textSearch } from './text-search.js';

/** Whether one value that a field has fulfils an operator. */
type Test = (value: FieldScalar) => boolean;

/**
 * The same for the text that was asked last at no cost: the conditions of a request mostly ask for the same few fields, one after the other.
 */
function rememberingLast<R>(work: (text: string) => R): (text: string) => R {
  let last: { readonly text: string; readonly result: R } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, result: work(text) };
    return last.result;
  };
}

const foldedText = rememberingLast(caseFolded);
const addressIn = rememberingLast(addressOf);

/** What is compared with is made ready once. Every test takes time in proportion to the value and to what is written in the rule. */
const TESTS: Readonly<Record<Exclude<Operator, 'absent'>, (condition: FieldCondition) => Test>> = {
  equals: ({ equals }) => equalTo([equals!]),
  in: (condition) => equalTo(condition.in!),
  startsWith: ({ startsWith }) => onText((text) => text.startsWith(startsWith!)),
  endsWith: ({ endsWith }) => onText((text) => text.endsWith(endsWith!)),
  contains: ({ contains }) => {
    const searches = [contains!].flat().map((text) => textSearch(caseFolded(text)));
    return onText((text) => {
      const folded = foldedText(text);
      return searches.some((find) => find(folded) !== -1);
    });
  },
  like: ({ like }) => onText(globMatcher(like!)),
  atLeast: ({ atLeast }) => {
    const least = decimalOfNumber(atLeast!);
    return onNumber((number) => compareDecimals(number, least) >= 0);
  },
  atMost: ({ atMost }) => {
    const most = decimalOfNumber(atMost!);
    return onNumber((number) => compareDecimals(number, most) <= 0);
  },
  between: ({ from, to }) => {
    const least = decimalOfNumber(from!);
    const most = decimalOfNumber(to!);
    return onNumber((number) => compareDecimals(number, least) >= 0 && compareDecimals(number, most) <= 0);
  },
  inRanges: ({ inRanges }) => {
    const ranges = inRanges!.map(addressRange);
    return onText((text) => {
      const address = addressIn(text);
      return address !== undefined && ranges.some((contains) => contains(address));
    });
  },
};

/** Of a field that has several values one is enough: which of them an upstream goes by cannot be known here. */
export function operatorTest(operator: Operator, condition: FieldCondition): (value: FieldValue) => boolean {
  if (operator === 'absent') return (value) => value === undefined;
  const test = TESTS[operator](condition);
  return (value) => {
    if (value === undefined) return false;
    return isSeveral(value) ? value.some(test) : test(value);
  };
}

/** Of a text, and of true and false, which are compared by these words. */
function onText(test: (text: string) => boolean): Test {
  return (value) => {
    if (typeof value === 'string') return test(value);
    return value.kind === 'truth' && test(value.text);
  };
}

/** Of a number, and of a text that is a decimal number. */
function onNumber(test: (number: Decimal) => boolean): Test {
  return (value) => {
    const number = decimalIn(value);
    return number !== undefined && test(number);
  };
}

/** The number that a value is, or is written as; undefined if it is none. */
export function decimalIn(value: FieldScalar): Decimal | undefined {
  if (typeof value === 'string') return decimalOf(value);
  return value.kind === 'number' ? decimalOf(value.text) : undefined;
}

/** A text equals a text letter by letter; a number equals whatever has its value, be it written 7 or 7.00. */
function equalTo(wanted: readonly Scalar[]): Test {
  const texts = new Set(wanted.filter((each) => typeof each === 'string'));
  const numbers = new Set(wanted.filter((each) => typeof each === 'number').map((each) => decimalText(decimalOfNumber(each))));
  const isText = onText((text) => texts.has(text));
  const isNumber = onNumber((number) => numbers.has(decimalText(number)));
  return (value) => isText(value) || (numbers.size > 0 && isNumber(value));
}
