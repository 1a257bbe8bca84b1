import { addressOf, addressRange } from './address-range.js';
import type { FieldCondition, Operator, Scalar } from './condition.js';
import { compareDecimals, decimalOf, decimalOfNumber, type Decimal } from './decimal.js';
import { globMatcher } from './glob.js';
import type { FieldValue } from './request-field.js';
import { caseFolded, textSearch } from './text-search.js';

/** Whether one value that a field has fulfils an operator. */
type Test = (value: string | number) => boolean;

/** What is compared with is made ready once. Every test takes time in proportion to the value and to what is written in the rule. */
const TESTS: Readonly<Record<Exclude<Operator, 'absent'>, (condition: FieldCondition) => Test>> = {
  equals: ({ equals }) => equalTo([equals!]),
  in: (condition) => equalTo(condition.in!),
  startsWith: ({ startsWith }) => onText((text) => text.startsWith(startsWith!)),
  endsWith: ({ endsWith }) => onText((text) => text.endsWith(endsWith!)),
  contains: ({ contains }) => {
    const searches = [contains!].flat().map((text) => textSearch(caseFolded(text)));
    return onText((text) => {
      const folded = caseFolded(text);
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
      const address = addressOf(text);
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
    return typeof value === 'object' ? value.some(test) : test(value);
  };
}

function onText(test: (text: string) => boolean): Test {
  return (value) => typeof value === 'string' && test(value);
}

/** Of a number, and of a text that is a decimal number. */
function onNumber(test: (number: Decimal) => boolean): Test {
  return (value) => {
    const number = typeof value === 'number' ? decimalOfNumber(value) : decimalOf(value);
    return number !== undefined && test(number);
  };
}

/** A text equals a text letter by letter; a number equals whatever has its value, be it written 7 or 7.00. */
function equalTo(wanted: readonly Scalar[]): Test {
  const texts = new Set(wanted.filter((each) => typeof each === 'string'));
  const numbers = wanted.filter((each) => typeof each === 'number').map(decimalOfNumber);
  const isNumber = onNumber((number) => numbers.some((each) => compareDecimals(number, each) === 0));
  return (value) => (typeof value === 'string' && texts.has(value)) || (numbers.length > 0 && isNumber(value));
}
