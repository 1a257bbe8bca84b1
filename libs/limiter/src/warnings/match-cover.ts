import type { Rule } from '../rules/rule.js';
import { namesMethod } from '../rules/rule-method.js';
import { type PatternShape, patternCovers, patternShape } from './pattern-cover.js';

/** What decides whether a rule applies to a request, made ready for comparisons. */
export interface Applicability {
  /** Enforced for a share of the bucket keys, and shadow for the rest: it neither covers another rule nor is covered by one in both. */
  readonly isPartial: boolean;
  /** Empty: any method but OPTIONS. */
  readonly methods: ReadonlySet<string>;
  /** Empty: any path. */
  readonly paths: readonly string[];
  readonly shapes: readonly PatternShape[];
  /** Whatever else narrows it: further conditions, a schedule, a validity. By name, as JSON; what narrows nothing is left out. */
  readonly others: ReadonlyMap<string, string>;
}

/** Fields of a rule, besides its match, that say when it applies. */
const WHEN = ['validFrom', 'validTo', 'schedule'];

export function applicabilityOf(rule: Pick<Rule, 'match' | 'mode'>): Applicability {
  let known = KNOWN.get(rule);
  if (known === undefined) KNOWN.set(rule, (known = madeApplicability(rule)));
  return known;
}

/** A rule that is written is compared with each of its layer, and a file writes all of them. A rule never changes: an edit makes a new object. */
const KNOWN = new WeakMap<Pick<Rule, 'match' | 'mode'>, Applicability>();

function madeApplicability(rule: Pick<Rule, 'match' | 'mode'>): Applicability {
  const { methods, paths, ...conditions } = rule.match as Rule['match'] & Readonly<Record<string, unknown>>;
  const when = WHEN.map((name) => [name, (rule as unknown as Readonly<Record<string, unknown>>)[name]] as const);
  const others = [...Object.entries(conditions), ...when].filter(([, value]) => narrows(value));
  return {
    isPartial: typeof rule.mode !== 'string',
    methods: new Set(methods),
    paths,
    // A rule without paths applies to all of them.
    shapes: (paths.length === 0 ? ['/**'] : paths).map(shapeOf),
    others: new Map(others.map(([name, value]) => [name, JSON.stringify(value)])),
  };
}

function narrows(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

/**
 * Whether one rule applies to every request to which another one applies. Never true by mistake; false where it is not certain: several patterns that cover
 * another only together, and conditions that differ in how they are written.
 */
export function covers(wide: Applicability, narrow: Applicability): boolean {
  if (wide.isPartial || narrow.isPartial) return false;
  for (const [name, value] of wide.others) if (narrow.others.get(name) !== value) return false;
  if (wide.methods.size > 0) {
    if (narrow.methods.size === 0) return false;
  }
  for (const method of narrow.methods) if (!namesMethod([...wide.methods], method)) return false;
  return wide.paths.length === 0 || narrow.shapes.every((shape) => wide.shapes.some((each) => patternCovers(each, shape)));
}

/** Whether two rules apply to the same requests, and say so in the same words. */
export function isSameMatch(a: Applicability, b: Applicability): boolean {
  const written = ({ methods, paths, others }: Applicability) =>
    JSON.stringify([[...methods].sort(), [...paths].sort(), [...others].sort()]);
  return written(a) === written(b);
}

function shapeOf(pattern: string): PatternShape {
  let shape = SHAPES.get(pattern);
  if (shape === undefined) {
    if (SHAPES.size >= MOST_SHAPES) SHAPES.clear();
    SHAPES.set(pattern, (shape = patternShape(pattern)));
  }
  return shape;
}

/** The same patterns are compared again and again: with each write of a rule, those of all others of its layer. */
const SHAPES = new Map<string, PatternShape>();
const MOST_SHAPES = 10_000;
