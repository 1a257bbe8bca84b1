/** What can break, one row a fault; the table in docs/operations.md is printed from them. */
import { CHANGES_CHANNEL, DEFAULT_RULES_KEY, snapshotKey } from '#limiter-redis';
import { everybody, STORE_AWAY, type Fault } from './fault.js';
import { FAULTS_OF_MACHINES } from './faults-of-machines.js';
import { FAULTS_OF_VERSIONS } from './faults-of-versions.js';
import { MERCHANTS } from './merchants.js';

/** Nobody can be served. */
const UPSTREAM_AWAY = everybody(502, 504);

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
    name: 'PostgreSQL is away for two minutes, and a gateway is restarted meanwhile',
    breakIt: async (bed) => {
      bed.databaseWay.blackHole();
      await bed.stopGateway();
      await bed.addGateway();
    },
    heal: ({ databaseWay }) => databaseWay.open(),
    allowed: {},
    onlyByHand: true,
    seconds: 120,
    healsWithinMs: 0,
  },
  ...FAULTS_OF_VERSIONS,
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
    name: 'Connections to the upstream are half-open: what is sent on them arrives nowhere',
    breakIt: ({ upstreamWay }) => upstreamWay.swallow(),
    heal: () => {},
    allowed: UPSTREAM_AWAY,
    onlyByHand: true,
    healsWithinMs: 6500,
  },
  {
    name: 'The way to the upstream is a black hole that accepts everything',
    breakIt: ({ upstreamWay }) => upstreamWay.blackHole(),
    heal: ({ upstreamWay }) => upstreamWay.open(),
    // 503: all connections wait for answers.
    allowed: everybody(502, 503, 504),
    onlyByHand: true,
    healsWithinMs: 6500,
  },
  ...FAULTS_OF_MACHINES,
  {
    name: 'A gateway is stopped (SIGTERM), another one comes',
    breakIt: (bed) => bed.stopGateway(),
    heal: (bed) => bed.addGateway(),
    allowed: {},
    healsWithinMs: 0,
  },
  {
    name: 'A gateway is killed (SIGKILL), another one comes',
    breakIt: async (bed) => {
      await bed.gateways[0]!.kill();
      await bed.removeGateway();
    },
    heal: (bed) => bed.addGateway(),
    // What was in flight in it.
    allowed: everybody(0),
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
];
