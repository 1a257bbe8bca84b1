import { setFlagsFromString } from 'node:v8';
import { ruleOf } from '../../testing/index.js';
import { bucketOf } from '../buckets/bucket.js';
import { storedRule } from '../rules/stored-rule.js';
import type { Rule } from '../rules/rule.js';
import { bucketsOf, bucketsWithholding } from './compiled-rule.js';

setFlagsFromString('--allow-natives-syntax');
// eslint-disable-next-line @typescript-eslint/no-implied-eval -- V8 alone knows, and tells it by a function that is no JavaScript.
const haveSameClass = new Function('a', 'b', 'return %HaveSameMap(a, b)') as (a: object, b: object) => boolean;
setFlagsFromString('--no-allow-natives-syntax');

const MERCHANTS = 60;
/** Some more than one: fields widen from whole numbers to others, and code is compiled meanwhile. */
const FEW = 10;

function hiddenClasses(objects: readonly object[]): number {
  const found: object[] = [];
  for (const each of objects) if (!found.some((other) => haveSameClass(other, each))) found.push(each);
  return found.length;
}

/** The rules of so many merchants, as they are read from a store. */
const storedRules = (more: Partial<Rule>) =>
  Array.from({ length: MERCHANTS }, (_, i) => storedRule(JSON.parse(JSON.stringify(ruleOf(String(i + 1), more)))));

describe('a decision finds few hidden classes, however many merchants there are, because V8 keeps what it knows of each of them in small caches', () => {
  it.each<[string, Partial<Rule>]>([
    ['plain rules', {}],
    ['leased rules', { consistency: 'leased' }],
    ['optimistic rules', { consistency: 'optimistic' }],
    ['rules that hold for a time', { validTo: '2030-01-01T00:00:00Z' }],
    ['rules that keep a share', { reserve: [{ name: 'captures', methods: ['POST'], paths: ['/captures'], percent: 20 }] }],
  ])('of %s and their buckets', (_what, more) => {
    const rules = storedRules(more);
    const buckets = rules.map((rule) => bucketsOf(rule, 'UTC'));
    const withheld = rules.map((rule, i) => bucketsWithholding(buckets[i]!, rule, 20));
    const first = (all: typeof buckets) => all.map(({ limits }) => limits[0]!);
    const overridden = rules.map(({ limits }) => bucketOf({ ...limits[0]!, inForce: { fromMs: 0 } }));
    for (const each of [rules, first(buckets), first(withheld), overridden]) expect(hiddenClasses(each)).toBeLessThan(FEW);
  });
});
