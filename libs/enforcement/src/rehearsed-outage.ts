import {
  type CheckOutcome,
  type Descriptor,
  MemoryBucketStore,
  type MerchantSnapshot,
  merchantRules,
  RateLimiter,
  StoreUnavailableError,
} from '#limiter';
import { compactSnapshotText, parseMerchantSnapshot } from '#limiter-redis';
import { NOBODY, rehearsal, REHEARSED_PATH } from './rehearsal.js';

/** As often as V8 has to see code before it compiles it well enough. */
const TURNS = 30;

/** Looks at the time zone, the path and the limits, as most rules do. */
const SNAPSHOT: MerchantSnapshot = {
  merchantId: NOBODY,
  version: 1,
  exists: true,
  timeZone: 'Europe/Berlin',
  rules: (['local', 'closed'] as const).map((onStoreFailure, i) =>
    rehearsal({
      id: String(i + 1),
      priority: i + 1,
      path: `${REHEARSED_PATH}/${onStoreFailure}/**`,
      cost: 1,
      capacity: 10,
      onStoreFailure,
    }),
  ),
};

/**
 * Reads the rules of a merchant that nobody has, and decides by them as while Redis is away, with a store of its own: otherwise the first merchant that is met by an outage
 * waits for the compiler, some thirty milliseconds, just when there is no time.
 *
 * @param answer is told what was decided, which counts for nobody
 */
export function rehearseOutage(answer: (outcome: CheckOutcome) => void = () => {}): void {
  const away = new StoreUnavailableError('a rehearsal');
  const limiter = new RateLimiter(
    { take: (_request, answered) => answered(away, 0), release: () => {}, refund: () => {} },
    new MemoryBucketStore(Date.now),
  );
  const text = compactSnapshotText(SNAPSHOT);
  for (let turn = 0; turn < TURNS; turn++) {
    const parsed = parseMerchantSnapshot(text, NOBODY);
    if (!('value' in parsed)) return;
    const rules = merchantRules(NOBODY, parsed.value.rules, []);
    for (const { onStoreFailure } of SNAPSHOT.rules) {
      const target = `${REHEARSED_PATH}/${onStoreFailure}/${turn}`;
      const descriptor: Descriptor = { merchantId: NOBODY, ip: '127.0.0.1', method: 'POST', target };
      limiter.check(rules, descriptor, answer);
    }
  }
}
