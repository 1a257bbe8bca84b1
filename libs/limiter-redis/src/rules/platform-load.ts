import { MOST_GATEWAYS, UnreadableError } from '#limiter';
import type { RedisConnection } from '../connection/redis-connection.js';
import { PLATFORM_LOAD_KEY } from '../redis-keys.js';
import { Script } from '../scripts.js';
import { COMPACT_FORMAT } from './compact-snapshot.js';
import { otherType, type OnUnreadable, type Parsed } from '../stored.js';

const script = new Script('report-load');

/**
 * Ends the name of each process that reports, and says which format of snapshots it reads. The name, because versions of before take any name, but drop a report that has more
 * than they know. They report under a bare name.
 */
const READS = `#${COMPACT_FORMAT}`;

/** What all gateways together forward. */
export interface PlatformLoad {
  /** Requests a second, rounded up. */
  readonly perSecond: number;
  /** How many gateways have reported in the last three seconds, this one among them. 1 to MOST_GATEWAYS. */
  readonly gateways: number;
}

/**
 * Says that a gateway is alive and what it forwards, and learns the same of all. Rejects with ioredis' error when Redis is away, and if what it
 * answers makes no sense.
 */
export async function reportLoad(
  redis: RedisConnection,
  gateway: string,
  perSecond: number,
  onUnreadable: OnUnreadable = () => {},
): Promise<PlatformLoad> {
  const load = parsePlatformLoad(await script.run(redis, [PLATFORM_LOAD_KEY], [gateway + READS, perSecond.toFixed(3)]));
  if ('value' in load) return load.value;
  onUnreadable({ kind: 'load', ...load });
  throw new UnreadableError(`load reports: ${load.detail}`);
}

/** Never throws. The script adds up what stands in a hash that anybody can write to. */
export function parsePlatformLoad(answer: unknown): Parsed<PlatformLoad> {
  const [perSecond, gateways] = Array.isArray(answer) ? (answer as unknown[]) : [];
  return isWholeWithin(perSecond, 0, Number.MAX_SAFE_INTEGER) && isWholeWithin(gateways, 1, MOST_GATEWAYS)
    ? { value: { perSecond, gateways } }
    : { reason: 'malformed', detail: `must be a load and a number of gateways from 1 to ${MOST_GATEWAYS}` };
}

/** The others need not wait until it has been silent for long enough. Rejects with ioredis' error when Redis is away. */
export async function leaveGateways(redis: RedisConnection, gateway: string): Promise<void> {
  await script.run(redis, [PLATFORM_LOAD_KEY], [gateway + READS, '']);
}

/**
 * Whether every process that reports reads compact snapshots; true if nobody reports. A silent one counts for half a minute at most. Rejects with ioredis' error when Redis
 * is away.
 */
export async function allReadCompactSnapshots(redis: RedisConnection): Promise<boolean> {
  // HGETALL, because gateways have always needed the permission for it.
  const reports = await redis.hgetall(PLATFORM_LOAD_KEY).catch(otherType);
  return !('reason' in reports && 'detail' in reports) && Object.keys(reports).every((name) => name.endsWith(READS));
}

function isWholeWithin(value: unknown, min: number, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}
