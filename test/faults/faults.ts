/** What can break, how, and what merchants may see meanwhile. One row a fault; the table in docs/operations.md is printed from them. */
import { CHANGES_CHANNEL, DEFAULT_RULES_KEY, snapshotKey } from '#limiter-redis';
import { until } from '../support/until.js';
import { MERCHANTS, type FaultBed, type Merchant } from './bed.js';
import { canLimit, descriptorsAgain, fullDisk, noMoreDescriptors, roomOnDisk } from './limits-of-processes.js';

export interface Fault {
  readonly name: string;
  readonly breakIt: (bed: FaultBed) => unknown;
  readonly heal: (bed: FaultBed) => unknown;
  /** Statuses that each merchant may get while it is broken and until it has healed. What is not named: 200, and 429 for the limited one. */
  readonly allowed: Partial<Record<Merchant, readonly number[]>>;
  /** How often in the row the limited merchant's bucket may be full again: what is lost cannot be known. */
  readonly bucketsLost?: number;
  /** It takes too long for npm test, or needs something that not every machine has. */
  readonly onlyByHand?: true;
  /** Wrong is what takes longer than this to heal. */
  readonly healsWithinMs: number;
}

/** Rules act by their onStoreFailure. */
export const STORE_AWAY = { closed: [503], limited: [503] } as const;
/** Nobody can be served. */
const UPSTREAM_AWAY = { open: [502, 504], closed: [502, 504], local: [502, 504], limited: [502, 504] } as const;

/** Here the machine has to do something for it that not every machine can. */
const WITH_PRLIMIT: readonly Fault[] = [
  {
    name: 'A gateway is out of file descriptors',
    breakIt: ({ gateways }) => noMoreDescriptors(gateways[0]!.pid),
    heal: ({ gateways }) => descriptorsAgain(gateways[0]!.pid),
    // Connections that it has go on; new ones, to it and from it to the upstream, are not to be had.
    allowed: { open: [0, 502], closed: [0, 502], local: [0, 502], limited: [0, 502] },
    onlyByHand: true,
    healsWithinMs: 1000,
  },
  {
    name: 'The disk of Redis is full, so that it takes no writes (MISCONF)',
    breakIt: async ({ house: { redis, redisServer } }) => {
      fullDisk(redisServer.pid);
      await redis.config('SET', 'save', '3600 1');
      await redis.call('BGSAVE');
      await until('the save has failed', async () => (await redis.info('persistence')).includes('rdb_last_bgsave_status:err'));
    },
    heal: async ({ house: { redis, redisServer } }) => {
      roomOnDisk(redisServer.pid);
      await redis.config('SET', 'save', '');
    },
    allowed: STORE_AWAY,
    onlyByHand: true,
    healsWithinMs: 2000,
  },
];

export const FAULTS: readonly Fault[] = [
  {
    name: 'Redis frozen (SIGSTOP)',
    breakIt: ({ house }) => house.redisServer.freeze(),
    heal: ({ house }) => house.redisServer.thaw(),
    allowed: STORE_AWAY,
    healsWithinMs: 1000,
  },
  {
    name: 'Redis answers 5 ms later',
    breakIt: ({ redisWay }) => redisWay.slowBy(5),
    heal: ({ redisWay }) => redisWay.open(),
    allowed: {},
    healsWithinMs: 0,
  },
  {
    name: 'Redis answers 50 ms later',
    breakIt: ({ redisWay }) => redisWay.slowBy(50),
    heal: ({ redisWay }) => redisWay.open(),
    allowed: STORE_AWAY,
    healsWithinMs: 1000,
  },
  {
    name: 'Redis answers 500 ms later',
    breakIt: ({ redisWay }) => redisWay.slowBy(500),
    heal: ({ redisWay }) => redisWay.open(),
    allowed: STORE_AWAY,
    healsWithinMs: 2000,
  },
  {
    name: 'Connections to Redis are reset, and new ones too',
    breakIt: ({ redisWay }) => redisWay.reset(),
    heal: ({ redisWay }) => redisWay.open(),
    allowed: STORE_AWAY,
    healsWithinMs: 2000,
  },
  {
    name: 'The way to Redis is a black hole that accepts everything',
    breakIt: ({ redisWay }) => redisWay.blackHole(),
    heal: ({ redisWay }) => redisWay.open(),
    allowed: STORE_AWAY,
    healsWithinMs: 2500,
  },
  {
    name: 'Redis full (`maxmemory`, `noeviction`)',
    breakIt: ({ house }) => house.redis.config('SET', 'maxmemory', '1'),
    heal: ({ house }) => house.redis.config('SET', 'maxmemory', '0'),
    allowed: STORE_AWAY,
    healsWithinMs: 2000,
  },
  {
    name: 'Redis is a replica all at once (READONLY)',
    breakIt: ({ house }) => house.redis.call('REPLICAOF', '127.0.0.1', '1'),
    heal: ({ house }) => house.redis.call('REPLICAOF', 'NO', 'ONE'),
    allowed: STORE_AWAY,
    healsWithinMs: 2000,
  },
  {
    name: 'Redis asks for a password that nobody has',
    breakIt: ({ house }) =>
      house.redis
        .call('CONFIG', 'SET', 'requirepass', 'unknown')
        .then(() => house.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')),
    heal: ({ house }) => house.redis.call('CONFIG', 'SET', 'requirepass', ''),
    allowed: STORE_AWAY,
    healsWithinMs: 2500,
  },
  {
    name: 'FLUSHALL',
    breakIt: ({ house }) => house.redis.flushall(),
    heal: () => {},
    allowed: {},
    bucketsLost: 1,
    healsWithinMs: 0,
  },
  {
    name: 'SCRIPT FLUSH',
    breakIt: ({ house }) => house.redis.script('FLUSH'),
    heal: () => {},
    allowed: {},
    healsWithinMs: 0,
  },
  {
    name: 'Nonsense in the change feed and in snapshots',
    breakIt: async ({ house: { redis } }) => {
      for (const key of [DEFAULT_RULES_KEY, ...MERCHANTS.map(snapshotKey)]) await redis.set(key, '{"version":1e300,"rules":"x"}');
      // The last ones are messages of ours: whoever hears them reads the nonsense.
      const messages = [
        'x',
        '{}',
        '{"merchantIds":7}',
        '[null]',
        '\u0000',
        '9'.repeat(400),
        ...[null, ...MERCHANTS].map((each) => JSON.stringify(each)),
      ];
      for (const message of messages) await redis.publish(CHANGES_CHANNEL, message);
    },
    heal: () => {},
    allowed: {},
    healsWithinMs: 0,
  },
  {
    name: 'The way to PostgreSQL is a black hole',
    breakIt: ({ databaseWay }) => databaseWay.blackHole(),
    heal: ({ databaseWay }) => databaseWay.open(),
    allowed: {},
    healsWithinMs: 0,
  },
  {
    name: 'Connections to PostgreSQL are reset',
    breakIt: ({ databaseWay }) => databaseWay.reset(),
    heal: ({ databaseWay }) => databaseWay.open(),
    allowed: {},
    healsWithinMs: 0,
  },
  {
    name: 'Redis and PostgreSQL are black holes',
    breakIt: ({ redisWay, databaseWay }) => [redisWay, databaseWay].forEach((way) => way.blackHole()),
    heal: ({ redisWay, databaseWay }) => [redisWay, databaseWay].forEach((way) => way.open()),
    allowed: STORE_AWAY,
    healsWithinMs: 2500,
  },
  {
    name: 'The way to PostgreSQL is a black hole, and a gateway is restarted meanwhile',
    breakIt: async (bed) => {
      bed.databaseWay.blackHole();
      const gateway = bed.gateways[0]!;
      gateway.signal('SIGTERM');
      await bed.remove(gateway);
      await bed.addGateway();
    },
    heal: ({ databaseWay }) => databaseWay.open(),
    allowed: {},
    onlyByHand: true,
    healsWithinMs: 0,
  },
  {
    name: 'A newer Tollgate writes snapshots in a format that gateways do not know',
    breakIt: async ({ house }) => {
      for (const merchant of MERCHANTS)
        await house.redis.set(
          snapshotKey(merchant),
          `${'9'.padStart(16, '0')}${JSON.stringify({ format: 99, merchantId: merchant, version: 9 })}`,
        );
      await house.snapshots.announce([...MERCHANTS]);
    },
    heal: ({ house }) => house.redis.del(...MERCHANTS.map(snapshotKey)),
    allowed: {},
    healsWithinMs: 0,
  },
  {
    name: 'Connections to the upstream are reset',
    breakIt: ({ upstreamWay }) => upstreamWay.reset(),
    heal: ({ upstreamWay }) => upstreamWay.open(),
    allowed: UPSTREAM_AWAY,
    healsWithinMs: 500,
  },
  {
    name: 'The upstream answers 500 ms later',
    breakIt: ({ upstreamWay }) => upstreamWay.slowBy(500),
    heal: ({ upstreamWay }) => upstreamWay.open(),
    allowed: {},
    healsWithinMs: 1500,
  },
  {
    name: 'A gateway is stopped (SIGTERM), another one comes',
    breakIt: async (bed) => {
      const gateway = bed.gateways[0]!;
      gateway.signal('SIGTERM');
      await bed.remove(gateway);
    },
    heal: (bed) => bed.addGateway(),
    allowed: {},
    healsWithinMs: 0,
  },
  {
    name: 'A gateway is killed (SIGKILL), another one comes',
    breakIt: async (bed) => {
      const gateway = bed.gateways[0]!;
      await gateway.kill();
      await bed.remove(gateway);
    },
    heal: (bed) => bed.addGateway(),
    // What was in flight in it.
    allowed: { open: [0], closed: [0], local: [0], limited: [0] },
    healsWithinMs: 500,
  },
  {
    name: 'Redis killed, and back without its data',
    breakIt: ({ house }) => house.redisServer.kill(),
    heal: ({ house }) => house.redisServer.restart(),
    allowed: STORE_AWAY,
    bucketsLost: 1,
    healsWithinMs: 2500,
  },
  ...(canLimit() ? WITH_PRLIMIT : []),
];
