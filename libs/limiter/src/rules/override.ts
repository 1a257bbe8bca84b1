/**
 * An override changes numbers of one rule for one merchant for a time. Its beginning and its end are two edits of the limits, whose times are
 * known: from both, and from the edits of the rule itself, follow the limits that are in force at an instant, with a history by which live buckets
 * are carried over as over any edit.
 */
import { limitAlgorithm } from '../limits/limit-algorithm.js';
import { MAX_PREVIOUS, specOf, succeeded } from '../limits/limit-edit.js';
import { LIMIT, type LimitSpec } from '../limits/limit-fields.js';
import { limitFaults, type LimitFault } from '../limits/limit-faults.js';
import { capacityOf, excessOf, type InForce, type Limit, type LimitStart, type PastLimit } from '../limits/limit.js';
import type { RuleOrigin } from './rule-origin.js';
import type { Rule } from './rule.js';

/** Numbers in place of those of one limit. */
export interface OtherNumbers {
  /** Of the limit: names may change. */
  readonly limitId: number;
  /** Fields of the limit that scale. */
  readonly numbers: Readonly<Record<string, number>>;
}

/** What an override does to the limits of a rule: multiplies all of them, or replaces numbers of some. */
export type OverrideNumbers = { readonly multiply: number } | { readonly limits: readonly OtherNumbers[] };

/** One override of a rule. */
export type OverridePeriod = OverrideNumbers & {
  readonly id: string;
  /** Counts the overrides that this rule has had for this merchant, from 1. */
  readonly number: number;
  readonly fromMs: number;
  readonly untilMs: number;
  /** It was ended by hand, at `untilMs`: an edit like others, which waits for no clock. */
  readonly deleted: boolean;
  /** The limits that the rule had when it began. */
  readonly before: readonly LimitBefore[];
};

/** A limit at the beginning of an override. */
export interface LimitBefore {
  readonly limitId: number;
  /** Tells what was edited before the override began, and what after. */
  readonly generation: number;
  /** The number of the last override before this one that concerned the limit; 0 if there was none. */
  readonly override: number;
}

/** The overrides that a rule has, or had, for one merchant; the oldest first, at least one. Those that ended stay: buckets carry what they did. */
export interface RuleOverrides {
  readonly ruleId: string;
  readonly periods: readonly OverridePeriod[];
}

/** At most one of a rule is active; so many are remembered of those that ended. */
export const MOST_PERIODS = 8;

/** Overrides that one rule may have for one merchant, one after the other, as long as it lives. */
export const MOST_OVERRIDES_OF_RULE = 2047;

/** Generations of a limit above which it gets no override any more. */
export const MOST_OVERRIDDEN_GENERATION = 983_040;

/** Two for each override, one more than all of them. */
const EVENTS = 2 * MOST_OVERRIDES_OF_RULE + 2;
/** Of the wire format of takes. */
const MOST_GENERATION = 2 ** 32 - 1;

/** What `multiply` may be. */
export const MULTIPLY = { min: 2, max: 1000 } as const;

/** A time as overrides see it. */
export interface OverrideTime {
  /** By the clock of the store. */
  readonly atMs: number;
  /** What has ended by then has ended for good: a bucket was found that knows of the end already. The clock stepped back. */
  readonly forGood?: boolean;
}

/** From when to when the same numbers hold. */
export interface Phase {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The phase in which an instant lies: it ends when one of the overrides does. */
export function phaseAt(overrides: readonly RuleOverrides[], atMs: number): Phase {
  let fromMs = -Infinity;
  let untilMs = Infinity;
  for (const { periods } of overrides) {
    const { deleted, untilMs: ends } = periods.at(-1)!;
    if (deleted) continue;
    if (ends <= atMs) fromMs = Math.max(fromMs, ends);
    else untilMs = Math.min(untilMs, ends);
  }
  return { fromMs, untilMs };
}

/**
 * By what time to ask a store again that has refused numbers of a phase, because they are not those of the present: the store's, if that lies in
 * another phase. Undefined if it does not, so that newer rules have to be read first.
 */
export function timeOfStore({ fromMs, untilMs }: Phase, atMs: number): OverrideTime | undefined {
  return atMs >= fromMs && atMs < untilMs ? undefined : { atMs };
}

/**
 * The same when there are no newer rules either: then the bucket knows that an override has ended which now, because the clock of the store
 * stepped back, has not ended yet. What has ended stays so. Undefined if none is going to end.
 */
export function timeOfBucket({ untilMs }: Phase): OverrideTime | undefined {
  return untilMs === Infinity ? undefined : { atMs: untilMs, forGood: true };
}

/** The override of a rule that is in force, if there is one. */
export function activeOverride({ periods }: RuleOverrides, atMs: number): OverridePeriod | undefined {
  const last = periods.at(-1)!;
  return isOver(last, atMs) ? undefined : last;
}

/** Fields of a limit's algorithm that an override may change. */
export function scalingFields(algorithm: LimitSpec['algorithm']): readonly string[] {
  const fields: Readonly<Record<string, object>> = LIMIT.variants[algorithm].fields;
  return Object.keys(fields).filter((name) => 'scales' in fields[name]!);
}

/** The limit that an override makes of another, valid or not; the same object if the override does not concern it. */
export function overridden(spec: LimitSpec, limitId: number, override: OverrideNumbers): LimitSpec {
  if ('multiply' in override) {
    const times = (field: string): number => (spec as unknown as Record<string, number>)[field]! * override.multiply;
    return { ...spec, ...Object.fromEntries(scalingFields(spec.algorithm).map((field) => [field, times(field)])) };
  }
  const other = override.limits.find((each) => each.limitId === limitId);
  if (other === undefined) return spec;
  const known = scalingFields(spec.algorithm).filter((field) => other.numbers[field] !== undefined);
  return { ...spec, ...Object.fromEntries(known.map((field) => [field, other.numbers[field]])) };
}

/** What is wrong with the limits that an override makes, by the place of the limit in the rule. */
export function overrideFaults({ limits }: Pick<Rule, 'limits'>, override: OverrideNumbers): { limit: Limit; fault: LimitFault }[] {
  return limits.flatMap((limit) => limitFaults(overridden(specOf(limit), limit.id, override)).map((fault) => ({ limit, fault })));
}

/** The largest factor by which an override makes a number of the rule grow; below 1 if all of them shrink, and infinite for one that was 0. */
export function overrideFactor({ limits }: Pick<Rule, 'limits'>, override: OverrideNumbers): number {
  if ('multiply' in override) return override.multiply;
  const factors = limits.flatMap((limit) => {
    if (!concerns(override, limit.id)) return [];
    const before = specOf(limit) as unknown as Readonly<Record<string, number>>;
    const after = overridden(specOf(limit), limit.id, override) as unknown as Readonly<Record<string, number>>;
    return scalingFields(limit.algorithm).map((field) => (after[field] === before[field] ? 1 : after[field]! / before[field]!));
  });
  return Math.max(...factors);
}

/** Whether an override changes anything about a limit. */
export function concerns(override: OverrideNumbers, limitId: number): boolean {
  return 'multiply' in override || override.limits.some((each) => each.limitId === limitId);
}

/** Whether the buckets of a rule are a merchant's own, so that an override for it changes nothing for others. */
export function canBeOverridden({ key }: Pick<Rule, 'key'>, source: RuleOrigin): boolean {
  return source === 'own' || key.includes('merchant');
}

/** A rule with the limits that are in force at a time. */
export function ruleUnder<R extends Rule>(rule: R, overrides: RuleOverrides, time: OverrideTime, timeZone: string | undefined): R {
  return { ...rule, limits: rule.limits.map((limit) => limitUnder(limit, overrides, time, timeZone)) };
}

function limitUnder(limit: Limit, { periods }: RuleOverrides, time: OverrideTime, timeZone: string | undefined): Limit {
  const concerning = periods.filter((period) => concerns(period, limit.id));
  const first = concerning[0] ?? periods.at(-1)!;
  const forgotten = first.before.find(({ limitId }) => limitId === limit.id)?.override ?? 0;
  return concerning.length === 0 && forgotten === 0 ? limit : new Timeline(limit, concerning, forgotten, time, timeZone).limit();
}

function isOver({ deleted, untilMs }: OverridePeriod, atMs: number): boolean {
  return deleted || untilMs <= atMs;
}

/**
 * The number of a generation under overrides. Each pair of a limit's own generation and what overrides there were has its own, so that no bucket is
 * taken for what it is not, in whatever order edits and ends of overrides came; and whatever happens next has a larger one.
 *
 * @param events beginnings and ends of overrides
 */
function generationUnder(generation: number, events: number): number {
  return Math.min(MOST_GENERATION, events === 0 ? generation : generation * EVENTS + events);
}

/** The beginning or the end of an override, behind the edit of the limit at this index; -1: before the oldest that is known. */
interface OverrideEvent {
  readonly behind: number;
  readonly period: OverridePeriod;
  readonly begins: boolean;
}

/** The edits of a limit, and between them the beginnings and ends of overrides. */
class Timeline {
  /** From the oldest to the present one. */
  private readonly edits: readonly (Limit | PastLimit)[];
  /** What has been applied so far. */
  private events: number;
  private active: OverridePeriod | undefined;
  private current: Limit | undefined;

  constructor(
    private readonly base: Limit,
    /** Those that concern the limit, the oldest first. */
    private readonly periods: readonly OverridePeriod[],
    /** The number of the last override before them. */
    forgotten: number,
    private readonly time: OverrideTime,
    private readonly timeZone: string | undefined,
  ) {
    this.edits = [...[...base.previous].reverse(), base];
    this.events = 2 * forgotten;
  }

  limit(): Limit {
    const events = this.placed();
    const apply = (index: number) => events.filter(({ behind }) => behind === index).forEach((event) => this.happened(event, index));
    apply(-1);
    this.edits.forEach((_edit, index) => {
      this.edited(index);
      apply(index);
    });
    const { id, name } = this.base;
    const limit = this.current!;
    return { ...limit, id, name, previous: limit.previous.slice(0, MAX_PREVIOUS), ...this.inForce() };
  }

  /** In their order, as far as they have happened. */
  private placed(): OverrideEvent[] {
    const events: OverrideEvent[] = [];
    let behind = -1;
    this.periods.forEach((period, i) => {
      const next = this.periods[i + 1];
      behind = Math.max(behind, this.beganBehind(period));
      events.push({ behind, period, begins: true });
      if (next === undefined && !isOver(period, this.time.atMs)) return;
      // An edit in the very millisecond of the end counts as later: nothing says which of the two came first.
      const before = this.edits.findLastIndex(({ since }) => since.atMs < period.untilMs);
      behind = Math.max(behind, next === undefined ? before : Math.min(before, this.beganBehind(next)));
      events.push({ behind, period, begins: false });
    });
    return events;
  }

  private beganBehind({ before }: OverridePeriod): number {
    const generation = before.find(({ limitId }) => limitId === this.base.id)?.generation ?? -1;
    return this.edits.findLastIndex((edit) => edit.generation <= generation);
  }

  private edited(index: number): void {
    const edit = this.edits[index]!;
    const generation = generationUnder(edit.generation, this.events);
    const spec = this.specOf(index);
    if (this.current === undefined) {
      const since = this.events === 0 ? edit.since : startWithin(edit.since, spec);
      this.current = { ...spec, id: this.base.id, generation, since, previous: [] };
      return;
    }
    const next = succeeded(this.current, spec, edit.since.atMs, this.timeZone, generation);
    // Before the first override it started as it says itself.
    this.current = this.events === 0 ? { ...next, since: edit.since } : next;
  }

  private happened({ period, begins }: OverrideEvent, index: number): void {
    this.active = begins ? period : undefined;
    this.events = 2 * period.number - (begins ? 1 : 0);
    if (this.current === undefined) return;
    const generation = generationUnder(this.edits[index]!.generation, this.events);
    const { onEdit: _onEdit, ...spec } = this.specOf(index);
    const onEdit = begins ? this.edits[index]!.onEdit : undefined;
    const next = { ...spec, ...(onEdit !== undefined && { onEdit }) } as LimitSpec;
    this.current = succeeded(this.current, next, begins ? period.fromMs : period.untilMs, this.timeZone, generation);
  }

  /** What the limit was written with, under the override that is active. */
  private specOf(index: number): LimitSpec {
    const edit = this.edits[index]!;
    const { id: _id, generation: _generation, since: _since, previous: _previous, inForce: _inForce, ...numbers } = edit as Limit;
    const spec: LimitSpec = { ...numbers, name: this.base.name };
    if (this.active === undefined) return spec;
    const under = overridden(spec, this.base.id, this.active);
    // The rule was edited, and the override does not fit it any more.
    return limitFaults(under).length === 0 ? under : spec;
  }

  private inForce(): { inForce?: InForce } {
    const last = this.periods.at(-1);
    if (last === undefined || last.deleted) return {};
    if (this.active === undefined) return this.time.forGood ? {} : { inForce: { fromMs: last.untilMs } };
    const tokens = capacityOf(this.base) + excessOf(this.base);
    const fillsAfterMs = tokens === 0 ? 0 : limitAlgorithm(this.base).quotaWindowMs(this.base, tokens);
    return { inForce: { untilMs: last.untilMs, fillsAfterMs } };
  }
}

/** What is known of the limit begins under an override, or behind one: nobody has more than a bucket holds. */
function startWithin(since: LimitStart, spec: LimitSpec): LimitStart {
  const most = capacityOf(spec) + excessOf(spec);
  return since.tokens < most ? since : { atMs: since.atMs, tokens: most };
}
