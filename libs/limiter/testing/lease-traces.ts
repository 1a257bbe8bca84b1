import { readFileSync } from 'node:fs';
import { bucketOf, decide, editLimits, MOST_LEASE_US, type Limit } from '../src/index.js';
import { startedLimit } from './arbitraries.js';
import { lentBy, START_MS, type CreateLender, type LenderUnderTest } from './lending.js';
import { bucketTake, burst, decisions, taken, takeFrom, type Answered } from './takes.js';

/** What a gateway or a request does to the bucket, when, and what the store of the model answers; see the comment in test/golden/lease-traces.json. */
type TraceStep = { readonly at: number } & (
  | {
      readonly do: 'lend';
      readonly by: number;
      readonly sequence: number;
      readonly holds: number;
      readonly givesBack: number;
      readonly wants: number;
      readonly granted: number;
      readonly left: number;
      readonly elsewhere: number;
    }
  | { readonly do: 'take'; readonly passes: 0 | 1; readonly left: number }
  | { readonly do: 'refund' | 'reset' | 'edit' | 'look'; readonly left: number }
  | { readonly do: 'spend' | 'putBack'; readonly by: number }
);

interface Trace {
  readonly id: string;
  readonly title: string;
  readonly capacity: number;
  readonly steps: readonly TraceStep[];
}

const TICKS_A_LEASE = 2;
const TICK_MS = MOST_LEASE_US / 1000 / TICKS_A_LEASE;
/** The store keeps a lease a microsecond longer than the gateway. The model ends both at the tick. */
const LEASE_US = MOST_LEASE_US - 1;
const KEY = 'k';

/**
 * What the checker of docs/models/leases.pml has found, on a real store: the store must answer as the model does. A store settles leases when somebody looks,
 * the model at each tick; so each trace runs with a look at each tick, and without one.
 */
export function describeLeaseTraces(create: CreateLender): void {
  describe.each(traces().map((trace) => [trace.id, trace.title, trace] as const))(
    'trace %s of the model of leases: %s',
    (_id, _title, trace) => {
      test.each([true, false])('with a look at each tick: %s', async (looks) => {
        await replay(trace, looks, await create());
      });
    },
  );
}

function traces(): Trace[] {
  const file = new URL('../../../test/golden/lease-traces.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { rows: Trace[] }).rows;
}

async function replay({ capacity, steps }: Trace, looks: boolean, { store, clock }: LenderUnderTest): Promise<void> {
  let limit = startedLimit(burst({ capacity, refillTokens: 1, refillIntervalMs: TICK_MS }), START_MS);
  let last: Answered | undefined;
  for (const step of steps) {
    clock.nowMs = START_MS + step.at * TICK_MS;
    if (step.do === 'spend' || step.do === 'putBack' || (step.do === 'look' && !looks)) continue;
    if (step.do === 'edit')
      limit = editLimits([limit], [burst({ capacity: capacity / 2, refillTokens: 1, refillIntervalMs: TICK_MS })], clock.nowMs)[0]!;
    if (step.do === 'refund') store.refund(last!);
    if (step.do === 'reset') await store.operate(KEY, bucketOf(limit), { kind: 'reset' });
    if (step.do === 'take') last = await taken(store, [bucketTake(KEY, limit)]);
    const found = step.do === 'lend' ? await lend(store, limit, step) : await leftOf(store, limit, last, step);
    const { do: _do, ...expected } = step;
    expect({ ...expected, ...found }).toEqual(expected);
  }
}

async function lend(store: LenderUnderTest['store'], limit: Limit, step: TraceStep & { do: 'lend' }) {
  const { by, sequence, holds, givesBack, wants } = step;
  const lent = await lentBy(store, { key: KEY, limit, lessee: by + 1, sequence, holds, givesBack, wants, forUs: LEASE_US });
  return { granted: lent.granted, elsewhere: lent.lentElsewhere, left: decide(bucketOf(limit), lent.level, 1, false).remaining };
}

async function leftOf(store: LenderUnderTest['store'], limit: Limit, last: Answered | undefined, step: TraceStep) {
  if (step.do !== 'take') return { left: (await takeFrom(store, [{ key: KEY, limit, cost: 0 }]))[0]!.remaining };
  const { allowed, remaining } = decisions(last!, last!.levels)[0]!;
  return { passes: allowed ? 1 : 0, left: remaining };
}
