/** What a machine has to give and does not: names, the right time, descriptors, room on the disk. */
import { until } from '../support/until.js';
import type { FaultBed } from './bed.js';
import { everybody, STORE_AWAY, type Fault } from './fault.js';
import { canLimit, descriptorsAgain, fullDisk, noMoreDescriptors, roomOnDisk } from './limits-of-processes.js';

const HOUR_MS = 3_600_000;

const everywhere = ({ machines }: FaultBed, ...pretended: Parameters<FaultBed['machines'][0]['pretend']>): void =>
  machines.forEach((machine) => machine.pretend(...pretended));

/** Here the machine has to do something for it that not every machine can. */
const WITH_PRLIMIT: readonly Fault[] = [
  {
    name: 'A gateway is out of file descriptors',
    breakIt: ({ gateways }) => noMoreDescriptors(gateways[0]!.pid),
    heal: ({ gateways }) => descriptorsAgain(gateways[0]!.pid),
    // Connections that it has go on; new ones, to it and from it to the upstream, are not to be had.
    allowed: everybody(0, 502),
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

export const FAULTS_OF_MACHINES: readonly Fault[] = [
  {
    name: 'DNS answers nothing, and the connections to the upstream break',
    breakIt: async (bed) => {
      everywhere(bed, { names: 'silent' });
      await bed.loadFor(100);
      bed.upstreamWay.reset();
      bed.upstreamWay.open();
    },
    heal: (bed) => everywhere(bed, {}),
    // What was on its way when they broke. New ones lead to where DNS said last.
    allowed: everybody(502),
    onlyByHand: true,
    healsWithinMs: 1000,
  },
  {
    name: 'DNS knows no names, and the connections to Redis break',
    breakIt: async (bed) => {
      everywhere(bed, { names: 'unknown' });
      await bed.loadFor(100);
      bed.redisWay.reset();
      bed.redisWay.open();
    },
    heal: (bed) => everywhere(bed, {}),
    allowed: STORE_AWAY,
    healsWithinMs: 2500,
  },
  {
    name: 'DNS answers nothing, and the connections to Redis break',
    breakIt: async (bed) => {
      everywhere(bed, { names: 'silent' });
      await bed.loadFor(100);
      bed.redisWay.reset();
      bed.redisWay.open();
    },
    heal: (bed) => everywhere(bed, {}),
    allowed: { ...everybody(502, 503, 504), open: [502, 504], local: [502, 504] },
    onlyByHand: true,
    healsWithinMs: 6000,
  },
  {
    name: 'The clock of a gateway is an hour ahead',
    breakIt: ({ machines }) => machines[0]!.pretend({ aheadMs: HOUR_MS }),
    heal: ({ machines }) => machines[0]!.pretend({}),
    allowed: {},
    healsWithinMs: 0,
  },
  {
    name: 'The clock of a gateway is an hour behind',
    breakIt: ({ machines }) => machines[0]!.pretend({ aheadMs: -HOUR_MS }),
    heal: ({ machines }) => machines[0]!.pretend({}),
    allowed: {},
    onlyByHand: true,
    healsWithinMs: 0,
  },
  {
    name: 'Redis frozen (SIGSTOP), and the clock of a gateway steps an hour back meanwhile',
    breakIt: async (bed) => {
      bed.house.redisServer.freeze();
      // Buckets in the gateway, from before the step.
      await bed.loadFor(500);
      bed.machines[0]!.pretend({ aheadMs: -HOUR_MS });
    },
    heal: ({ house, machines }) => {
      house.redisServer.thaw();
      machines[0]!.pretend({});
    },
    allowed: STORE_AWAY,
    onlyByHand: true,
    healsWithinMs: 2500,
  },
  {
    name: 'A gateway is frozen (SIGSTOP), and goes on',
    breakIt: ({ gateways }) => gateways[0]!.signal('SIGSTOP'),
    heal: ({ gateways }) => gateways[0]!.signal('SIGCONT'),
    // Its clients wait, and get what they would have got: the pause is neither the fault of Redis, nor of the upstream, nor theirs.
    allowed: {},
    healsWithinMs: 0,
  },
  {
    name: 'The disk to which a gateway logs is full',
    breakIt: async (bed) => {
      await bed.stopGateway();
      await bed.addGateway({ logTo: '/dev/full' });
    },
    heal: async (bed) => {
      await bed.stopGateway(1);
      await bed.addGateway();
    },
    allowed: {},
    onlyByHand: true,
    healsWithinMs: 0,
  },
  ...(canLimit() ? WITH_PRLIMIT : []),
];

/** For a bed whose Redis has a clock that can be set. */
export const FAULTS_OF_THE_CLOCK: readonly Fault[] = [
  {
    name: 'The clock of Redis steps an hour forward, and back',
    breakIt: ({ redisClock }) => redisClock!.shift(3600),
    heal: ({ redisClock }) => redisClock!.shift(0),
    // A state from the future is an empty bucket: one request of each may be refused. The step forward has filled it.
    allowed: everybody(429),
    bucketsLost: 1,
    onlyByHand: true,
    healsWithinMs: 500,
  },
  {
    name: 'The clock of Redis steps an hour back, and forward',
    breakIt: ({ redisClock }) => redisClock!.shift(-3600),
    heal: ({ redisClock }) => redisClock!.shift(0),
    allowed: everybody(429),
    bucketsLost: 1,
    onlyByHand: true,
    healsWithinMs: 500,
  },
];
