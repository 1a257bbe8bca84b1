/** Another version of Tollgate writes what these gateways read: a fleet is updated one process after the other. */
import { snapshotKey } from '#limiter-redis';
import type { FaultBed } from './bed.js';
import { STORE_AWAY, type Fault } from './fault.js';
import { MERCHANTS, type Merchant } from './merchants.js';

/** Writes a snapshot of each merchant as another version would, and tells the gateways. */
async function write(bed: FaultBed, bodyOf: (merchant: Merchant) => object): Promise<void> {
  const { redis, snapshots } = bed.house;
  const version = bed.nextVersion();
  for (const merchant of MERCHANTS)
    await redis.set(snapshotKey(merchant), String(version).padStart(16, '0') + JSON.stringify({ ...bodyOf(merchant), version }));
  await snapshots.announce([...MERCHANTS]);
}

const ON_STORE_FAILURE = {
  open: 'open',
  closed: 'closed',
  local: 'local',
  limited: 'closed',
  leased: 'closed',
} as const satisfies Record<Merchant, string>;

export const FAULTS_OF_VERSIONS: readonly Fault[] = [
  {
    name: 'A newer Tollgate writes snapshots in a format that gateways do not know',
    breakIt: (bed) => write(bed, (merchantId) => ({ format: 99, merchantId })),
    heal: ({ house }) => house.redis.del(...MERCHANTS.map(snapshotKey)),
    allowed: {},
    healsWithinMs: 0,
  },
  {
    name: 'A newer Tollgate writes rules in a language that gateways do not know, beside those of before',
    breakIt: (bed) =>
      write(bed, (merchant) => {
        const { rules, ...snapshot } = bed.snapshots.get(merchant)!;
        const newer = { id: '999999', language: 99, onStoreFailure: ON_STORE_FAILURE[merchant], match: { methods: [], paths: [] } };
        return { ...snapshot, format: 2, rules: [...rules.map((rule) => ({ ...rule, language: 1 })), newer] };
      }),
    heal: (bed) => write(bed, (merchant) => ({ ...bed.snapshots.get(merchant)!, format: 1 })),
    // What is not known counts against the request where the rule fails closed.
    allowed: STORE_AWAY,
    healsWithinMs: 2000,
  },
  {
    name: 'An older Tollgate writes snapshots without a format',
    breakIt: (bed) => write(bed, (merchant) => bed.snapshots.get(merchant)!),
    heal: () => {},
    allowed: {},
    healsWithinMs: 0,
  },
];
