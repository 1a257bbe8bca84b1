import { bucketOf, decide, startState, take, type BucketState, type BucketStore, type Decision, type Limit } from '../src/index.js';
import { FakeClock } from './fake-clock.js';
import { bucketTake, isAllowed, taken } from './takes.js';

/** Whatever decides over one bucket: the pure function, or a store. The limit may be an edit of the one before. */
export type Engine = (limit: Limit, cost: number, nowUs: number) => Promise<Decision> | Decision;

/** Gives engines with a bucket each. */
export type CreateEngine = () => Promise<Engine> | Engine;

export const pureEngine: CreateEngine = () => {
  let state: BucketState | undefined;
  let slot = 0;
  return (limit, cost, nowUs) => {
    const bucket = bucketOf(limit);
    const after = take(bucket, state ?? startState(bucket, nowUs), cost, nowUs / 1000, ++slot);
    state = after.state;
    return after.decision;
  };
};

/** An engine on a store; buckets are told apart by their keys. */
export function storeEngine(store: BucketStore, clock: FakeClock, name = 'engine'): CreateEngine {
  let engines = 0;
  return () => {
    const key = `${name}.${++engines}`;
    let slot = 0;
    return async (limit, cost, nowUs) => {
      clock.nowMs = nowUs / 1000;
      const take = bucketTake(key, limit, cost);
      const receipt = await taken(store, [take], ++slot);
      return decide(take.bucket, receipt.levels[0]!, cost, isAllowed(receipt));
    };
  };
}
