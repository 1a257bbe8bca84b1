import { allPass, bucketOf, MemoryBucketStore, startLimits, type Clock, type TakeRequest } from '#limiter';

/** An administrator who mistypes a token is not locked out; whoever guesses is slowed down to one try in three seconds. */
const [LIMIT] = startLimits(
  [{ name: 'failed logins', algorithm: 'token_bucket', capacity: 20, refillTokens: 1, refillIntervalMs: 3_000, refill: 'greedy' }],
  0,
);

export const RETRY_AFTER_SECONDS = 3;

/** Addresses that are remembered at most. */
const MAX_PEERS = 10_000;

/** Bounds how many tokens that nobody has seen before an address may try. Each try costs a look into the database. */
export class FailedLogins {
  private readonly store: MemoryBucketStore;
  private readonly bucket = bucketOf(LIMIT!);

  constructor(clock: Clock = Date.now) {
    this.store = new MemoryBucketStore(clock, MAX_PEERS);
  }

  /** Whether this address may try another token; counts the try. */
  mayTry(peer: string): boolean {
    const request: TakeRequest = { takes: [{ key: peer, bucket: this.bucket, cost: 1 }], holder: 0, spare: false };
    let allowed = false;
    this.store.take(request, (outcome) => (allowed = !(outcome instanceof Error) && allPass(request, outcome)));
    return allowed;
  }
}
