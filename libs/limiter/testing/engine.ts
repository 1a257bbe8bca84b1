import { bucketOf, type BucketState, type BucketStore, type Decision, type Limit } from '../src/index.js';
import type { FakeClock } from './fake-clock.js';
import { bucketTake, decisions, takeAlone, taken } from './takes.js';

/** Whatever decides over one bucket: the pure function, or a store. The limit may be an edit of the one before. */
export type Engine = (limit: Limit, cost: number, nowUs: number) => Promise<Decision> | Decision;

/** Gives engines with a bucket each. */
export type CreateEngine = () => Promise<Engine> | Engine;

export const pureEngine: CreateEngine = () => {
  let state: BucketState | undefined;
  let holder = 0;
  return (limit, cost, nowUs) => {
    const after = takeAlone(bucketOf(limit), state, cost, nowUs / 1000, { holder: ++holder });
    state = after.state;
    return after.decision;
  };
};

/** An engine on a store; buckets are told apart by their keys. */
export function storeEngine(store: BucketStore, clock: FakeClock, name = 'engine'): CreateEngine {
  let engines = 0;
  return () => {
    const key = `${name}.${++engines}`;
    let holder = 0;
    return async (limit, cost, nowUs) => {
      clock.nowMs = nowUs / 1000;
      const answered = await taken(store, [bucketTake(key, limit, cost)], ++holder);
      return decisions(answered, answered.levels)[0]!;
    };
  };
}
