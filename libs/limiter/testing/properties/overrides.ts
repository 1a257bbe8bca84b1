import * as fc from 'fast-check';
import {
  bucketOf,
  editLimits,
  limitFaults,
  MOST_PERIODS,
  NewerRulesError,
  overridden,
  phaseAt,
  ruleUnder,
  timeOfBucket,
  timeOfStore,
  type Decision,
  type Limit,
  type LimitSpec,
  type OnEdit,
  type OverridePeriod,
  type OverrideTime,
  type Rule,
  type RuleOverrides,
} from '../../src/index.js';
import { anyLimitSpecs, startedLimit } from '../arbitraries.js';
import type { CreateEngine, Engine } from '../engine.js';
import { KeptForEver } from '../kept-for-ever.js';
import { runs } from './runs.js';

/**
 * What a merchant may do whose rule is overridden, again and again, while it is edited, and asked by gateways whose clocks are wrong: the same
 * as with a store that keeps every bucket for ever, and to which administrators come at the moment at which an override begins and ends.
 */
export function describeOverrides(createEngine: CreateEngine, usualRuns: number): void {
  test('overrides begin and end as edits at their times would, whatever the clocks of gateways say', async () => {
    const seen = { overrides: 0, ends: 0, deletions: 0, edits: 0, refusals: 0, corrections: 0 };
    await fc.assert(
      fc.asyncProperty(cases, async ([spec, events]) => {
        const written = new Written(spec);
        const model = new Model(spec);
        const gateways = new Gateways(await createEngine());
        let nowMs = START_MS;
        for (const event of events) {
          nowMs += event.idleMs;
          if (model.passed(nowMs)) seen.ends++;
          if ('edit' in event) {
            if (written.edit(event.edit, nowMs)) {
              model.edit(event.edit, nowMs);
              seen.edits++;
            }
          } else if ('multiply' in event) {
            if (written.override(event.multiply, nowMs, event.forMs)) {
              model.override(event.multiply, nowMs, event.forMs);
              seen.overrides++;
            }
          } else if ('delete' in event) {
            if (written.end(nowMs)) {
              model.end(nowMs);
              seen.deletions++;
            }
          } else {
            const expected = model.take(event.cost, nowMs * 1000);
            expect(await gateways.take(written, event.cost, nowMs, event.aheadMs)).toEqual(expected);
            if (!expected.allowed) seen.refusals++;
          }
        }
        seen.corrections += gateways.corrections;
      }),
      { ...runs(usualRuns), examples: FOUND.map((found) => [found] as const) as never },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(usualRuns / 20);
  });
}

/** What administrators have written: a rule of one limit, and its overrides. */
class Written {
  limit: Limit;
  periods: readonly OverridePeriod[] = [];

  constructor(spec: LimitSpec) {
    this.limit = startedLimit(spec, START_MS);
  }

  /** Whether the numbers are others now. */
  edit(spec: LimitSpec, atMs: number): boolean {
    const [next] = editLimits([this.limit], [spec], atMs);
    const isOther = next!.generation !== this.limit.generation;
    this.limit = next!;
    return isOther;
  }

  override(multiply: number, atMs: number, forMs: number): boolean {
    const last = this.periods.at(-1);
    if (last !== undefined && last.untilMs > atMs) return false;
    const number = (last?.number ?? 0) + 1;
    const before = [{ limitId: this.limit.id, generation: this.limit.generation, override: number - 1 }];
    const period = { id: String(number), number, fromMs: atMs, untilMs: atMs + forMs, deleted: false, before, multiply };
    this.periods = [...this.periods, period].slice(-MOST_PERIODS - 1);
    return true;
  }

  end(atMs: number): boolean {
    const last = this.periods.at(-1);
    if (last === undefined || last.untilMs <= atMs) return false;
    this.periods = [...this.periods.slice(0, -1), { ...last, untilMs: atMs, deleted: true }];
    return true;
  }

  at(time: OverrideTime): Limit {
    if (this.periods.length === 0) return this.limit;
    return ruleUnder({ limits: [this.limit] } as unknown as Rule, this.overrides[0]!, time, undefined).limits[0]!;
  }

  get overrides(): readonly RuleOverrides[] {
    return this.periods.length === 0 ? [] : [{ ruleId: '1', periods: this.periods }];
  }
}

/** Each request comes to a gateway that takes some time for the present, and learns better from the store. */
class Gateways {
  corrections = 0;

  constructor(private readonly engine: Engine) {}

  async take(written: Written, cost: number, nowMs: number, aheadMs: number): Promise<Decision> {
    let time: OverrideTime = { atMs: nowMs + aheadMs };
    for (let asked = 0; ; asked++) {
      try {
        return await this.engine(written.at(time), cost, nowMs * 1000);
      } catch (error) {
        if (!(error instanceof NewerRulesError) || asked === 2) throw error;
        const phase = phaseAt(written.overrides, time.atMs);
        const next: OverrideTime | undefined = timeOfStore(phase, error.atUs / 1000) ?? timeOfBucket(phase);
        if (next === undefined) throw error;
        time = next;
        this.corrections++;
      }
    }
  }
}

/** A bucket that is carried over at the moment of each change, and needs no history. */
class Model {
  private readonly kept: KeptForEver;
  private active: { readonly multiply: number; readonly untilMs: number } | undefined;

  constructor(private spec: LimitSpec) {
    this.kept = new KeptForEver(bucketOf(startedLimit(spec, START_MS)));
  }

  edit(spec: LimitSpec, atMs: number): void {
    this.spec = spec;
    this.change(atMs, spec.onEdit);
  }

  override(multiply: number, atMs: number, forMs: number): void {
    this.active = { multiply, untilMs: atMs + forMs };
    this.change(atMs, this.spec.onEdit);
  }

  end(atMs: number): void {
    this.active = undefined;
    this.change(atMs, 'as_is');
  }

  /** Whether an override has ended by then. */
  passed(nowMs: number): boolean {
    if (this.active === undefined || this.active.untilMs > nowMs) return false;
    this.end(this.active.untilMs);
    return true;
  }

  take(cost: number, nowUs: number): Decision {
    return this.kept.take(cost, nowUs);
  }

  private change(atMs: number, onEdit: OnEdit = 'as_is'): void {
    const under = this.active === undefined ? this.spec : overridden(this.spec, 0, this.active);
    const { initialTokens: _initialTokens, ...spec } = (limitFaults(under).length === 0 ? under : this.spec) as LimitSpec & {
      initialTokens?: number;
    };
    this.kept.edit(bucketOf(startedLimit(spec as LimitSpec, atMs)), atMs * 1000, onEdit);
  }
}

type Event = { readonly idleMs: number } & (
  | { readonly edit: LimitSpec }
  | { readonly multiply: number; readonly forMs: number }
  | { readonly delete: true }
  | { readonly cost: number; readonly aheadMs: number }
);

const START_MS = 1_763_000_000_000;
const MINUTE_MS = 60_000;
const YEAR_MS = 365 * 86_400_000;

/** Slots are held by requests, and are no tokens that could be carried over. */
const specs = anyLimitSpecs().filter((spec) => spec.algorithm !== 'concurrency');

const spanMs = (min: number) =>
  fc.oneof(
    fc.constant(min),
    fc.integer({ min, max: MINUTE_MS }),
    fc.integer({ min, max: 30 * MINUTE_MS }),
    fc.integer({ min, max: YEAR_MS }),
  );
const idleMs = spanMs(0);

const take = fc.record({
  idleMs,
  cost: fc.constantFrom(0, 1, 1, 2, 5, 20, 1000),
  aheadMs: fc.constantFrom(0, 0, 1, -1, 1000, -1000, YEAR_MS, -YEAR_MS),
});

const cases: fc.Arbitrary<[LimitSpec, Event[]]> = specs.chain((spec) => {
  const events = fc.oneof<fc.WeightedArbitrary<Event>[]>(
    { weight: 4, arbitrary: take },
    { weight: 2, arbitrary: fc.record({ idleMs, multiply: fc.constantFrom(2, 3, 5, 1000), forMs: spanMs(1) }) },
    // Nobody knows which of an edit and a deletion in the same millisecond came first: see Timeline.
    { weight: 1, arbitrary: fc.record({ idleMs: spanMs(1), delete: fc.constant(true as const) }) },
    { weight: 1, arbitrary: fc.record({ idleMs, edit: specs }) },
  );
  return fc.tuple(fc.constant(spec), fc.array(events, { minLength: 1, maxLength: 20 }));
});

/** Failures that random runs have found. */
const FOUND: [LimitSpec, Event[]][] = [];
