import type { Figures } from './measured.js';

/** A load that is to be carried. */
export interface Load {
  /** Requests a second at the busiest time. */
  readonly rps: number;
  readonly merchants: number;
  /** The share of all requests that the busiest merchant sends. 0 to 1. */
  readonly hot: number;
  /** The share of all requests that merchants with leased rules send, the busiest one first. 0 to 1. */
  readonly leased: number;
  /** How many merchants these are. */
  readonly leasedMerchants: number;
  /** Buckets that a request takes from: limits of the chosen rules. */
  readonly takes: number;
  /** Live buckets a merchant: more than its limits if keys tell users or addresses apart. */
  readonly buckets: number;
  /** The share of merchants with rules of their own. 0 to 1. */
  readonly own: number;
  /** Cores of a gateway machine. */
  readonly cores: number;
  /** How busy a core may be at the busiest time. 0.1 to 0.9. */
  readonly busy: number;
  /** Gateway machines that may fail at once. */
  readonly spare: number;
}

/** One result with what it was reckoned from. */
export interface Line {
  readonly what: string;
  readonly value: number;
  readonly unit: 'count' | 'bytes' | 'seconds' | 'per_second';
  readonly because: string;
}

export interface Plan {
  readonly gateways: number;
  readonly redisShards: number;
  /** Bytes of memory that each shard needs. */
  readonly redisShardBytes: number;
  readonly postgresBytes: number;
  readonly preloaders: number;
  readonly preloadIntervalMs: number;
  /** True if the busiest merchant asks for more than half of what a shard carries: its rules have to be leased. */
  readonly needsLeases: boolean;
  readonly lines: readonly Line[];
}

/** Fragmentation, buffers of clients and replicas, copies while a snapshot is written to disk. */
const MEMORY_HEADROOM = 1.5;
/** Dead rows, the audit's rows and the write-ahead log stand beside what is counted. */
const DISK_HEADROOM = 2;
/** One carries a preload, the other goes on if it fails. More share the reloads of single merchants, not the walk. */
const PRELOADERS = 2;
/** A preload should be over long before the next one begins. */
const PRELOAD_SHARE = 0.5;
const USUAL_PRELOAD_INTERVAL_MS = 900_000;
const MICROS = 1e6;
/** A merchant's bucket lies in one shard. Beside one that takes more of it than this, there would be many shards that are nearly idle. */
const HOT_SHARE = 0.5;
/** Requests a second of one bucket at one worker from which on it is leased, with the usual horizon of a second: see docs/leases.md. */
const LEASED_FROM = 4;

const n = (value: number): string => (value >= 100 ? Math.round(value) : Number(value.toPrecision(3))).toLocaleString('en');
const count = (what: string, value: number, because: string): Line => ({ what, value, unit: 'count', because });
const bytes = (what: string, value: number, because: string): Line => ({ what, value, unit: 'bytes', because });

/** Pure arithmetic. Every number of the load is positive, shares are 0 to 1. */
export function planOf(load: Load, figures: Figures): Plan {
  const gateways = gatewaysOf(load, figures);
  const redis = redisOf(load, gateways[0].value, figures);
  const rest = storedOf(load, figures);
  return {
    gateways: gateways[1].value,
    ...redis.plan,
    ...rest.plan,
    preloaders: PRELOADERS,
    lines: [...gateways, ...redis.lines, ...rest.lines],
  };
}

function gatewaysOf({ rps, cores, busy, spare }: Load, { requestsOfCore }: Figures): [workers: Line, machines: Line] {
  const exact = rps / (requestsOfCore.value * busy);
  const workers = Math.ceil(exact);
  const machines = Math.ceil(workers / cores);
  return [
    count('gateway workers', workers, `${n(rps)} /s / (${n(requestsOfCore.value)} /s a core x ${busy}) = ${n(exact)}`),
    count('gateways', machines + spare, `${n(workers)} workers / ${cores} cores a machine = ${n(machines)}, and ${spare} to spare`),
  ];
}

interface RedisPlan {
  readonly plan: Pick<Plan, 'redisShards' | 'redisShardBytes' | 'needsLeases'>;
  readonly lines: readonly Line[];
}

/** Merchants whose rules are leased. */
interface LeasedGroup {
  readonly who: string;
  readonly merchants: number;
  /** Takes a second, of all of them. */
  readonly takes: number;
}

interface Leases {
  /** Takes a second that need none, because they are spent from leases. */
  readonly spared: number;
  /** What Redis does for the leases instead, in takes a second that cost as much. */
  readonly instead: number;
  readonly lines: readonly Line[];
}

/** Each worker leases for itself: it reports of a bucket so often a second, however many requests are decided by the lease. */
function leasesOf(groups: readonly LeasedGroup[], buckets: number, workers: number, figures: Figures): Leases {
  const { leaseMicros, leaseReports, takeMicros } = figures;
  const each = leaseReports.value;
  const cost = leaseMicros.value / takeMicros.value;
  const lines: Line[] = [];
  let [spared, reports] = [0, 0];
  for (const { who, merchants, takes } of groups) {
    const pairs = merchants * buckets * workers;
    const counted = `${n(merchants)} x ${buckets} buckets x ${n(workers)} workers`;
    const leased = takes / pairs >= LEASED_FROM;
    const needed = leased ? Math.min(takes, pairs * each) : 0;
    const because = leased
      ? `${counted} x ${n(each)} measured, in place of ${n(takes)} takes; each costs Redis ${n(leaseMicros.value)} us, as ${n(cost)} takes`
      : `${n(takes)} takes / (${counted}) = ${n(takes / pairs)}, fewer than ${LEASED_FROM}: nothing is leased`;
    lines.push({ what: `reports of leases, ${who}`, value: Math.ceil(needed), unit: 'per_second', because });
    reports += needed;
    spared += leased ? takes : 0;
  }
  return { spared, instead: reports * cost, lines };
}

function redisOf(load: Load, workers: number, figures: Figures): RedisPlan {
  const { rps, takes, hot, busy, leased, leasedMerchants } = load;
  const { takeMicros } = figures;
  const asked = rps * takes;
  const ofShard = (MICROS / takeMicros.value) * busy;
  const needsLeases = asked * hot > ofShard * HOT_SHARE;
  const hotIsLeased = needsLeases || (hot > 0 && leased >= hot);
  const others = hotIsLeased ? { share: leased - hot, merchants: leasedMerchants - 1 } : { share: leased, merchants: leasedMerchants };
  const leases = leasesOf(
    [
      ...(hotIsLeased ? [{ who: 'the busiest merchant', merchants: 1, takes: asked * hot }] : []),
      ...(others.share > 0 && others.merchants > 0 ? [{ who: 'others', merchants: others.merchants, takes: asked * others.share }] : []),
    ],
    takes,
    workers,
    figures,
  );
  const all = asked - leases.spared + leases.instead;
  const ofHot = hotIsLeased ? 0 : asked * hot;
  // The shard of the busiest merchant has the rest of its core for its part of the others.
  const shards = Math.max(atLeastOne(all / ofShard), atLeastOne((all - ofHot) / (ofShard - ofHot)));
  const left = leases.spared > 0 ? `; ${n(leases.spared)} of them are leased, which leaves ${n(all)} with the reports` : '';
  const busiest = hotIsLeased ? '' : `; the busiest merchant asks for ${n(ofHot)} of them, all in one shard`;
  const why = needsLeases ? '; the busiest merchant alone asks for more than half of what a shard carries: lease its rules' : '';
  const stored = bytesOf(load, shards, figures);
  return {
    plan: { redisShards: shards, redisShardBytes: stored.shardBytes, needsLeases },
    lines: [
      {
        what: 'takes of a shard',
        value: Math.floor(ofShard),
        unit: 'per_second',
        because: `1,000,000 us / ${takeMicros.value} us a take x ${busy}`,
      },
      ...leases.lines,
      count('Redis shards', shards, `${n(rps)} /s x ${takes} takes = ${n(asked)} a second${left}${busiest}${why}`),
      ...stored.lines,
    ],
  };
}

function bytesOf({ merchants, buckets, own }: Load, shards: number, { bucketBytes, snapshotBytes, markBytes }: Figures) {
  const ofRules = own * snapshotBytes.value + (1 - own) * markBytes.value;
  const total = merchants * (ofRules + buckets * bucketBytes.value);
  const shardBytes = Math.ceil((total * MEMORY_HEADROOM) / shards);
  const lines = [
    bytes(
      'Redis, all shards',
      Math.ceil(total),
      `${n(merchants)} merchants x (snapshot ${n(ofRules)} B + ${buckets} x bucket ${n(bucketBytes.value)} B)`,
    ),
    bytes(
      'maxmemory of a shard',
      shardBytes,
      `x ${MEMORY_HEADROOM} for buffers, fragmentation and saving / ${shards}; a replica needs the same again`,
    ),
  ];
  return { shardBytes, lines };
}

const atLeastOne = (exact: number): number => Math.max(1, Math.ceil(exact));

function storedOf({ merchants }: Load, { diskBytes, preloadedPerSecond, preloaderMegabytes }: Figures) {
  const disk = merchants * diskBytes.value;
  const walkSeconds = merchants / preloadedPerSecond.value;
  const needed = Math.ceil((walkSeconds * 1000) / PRELOAD_SHARE);
  const preloadIntervalMs = Math.max(USUAL_PRELOAD_INTERVAL_MS, needed);
  const lines: Line[] = [
    bytes(
      'disk of PostgreSQL',
      Math.ceil(disk * DISK_HEADROOM),
      `${n(merchants)} merchants x ${n(diskBytes.value)} B x ${DISK_HEADROOM} for dead rows, audit and log`,
    ),
    count('preloaders', PRELOADERS, `one walks, one takes over; each needs ${n(preloaderMegabytes.value)} MB`),
    {
      what: 'a full preload',
      value: walkSeconds,
      unit: 'seconds',
      because: `${n(merchants)} merchants / ${n(preloadedPerSecond.value)} /s`,
    },
    {
      what: 'PRELOAD_INTERVAL_MS / 1000, at least',
      value: preloadIntervalMs / 1000,
      unit: 'seconds',
      because: `a preload takes at most ${PRELOAD_SHARE} of it; the default is ${USUAL_PRELOAD_INTERVAL_MS / 1000} s`,
    },
  ];
  return { plan: { postgresBytes: Math.ceil(disk * DISK_HEADROOM), preloadIntervalMs }, lines };
}
