import { MOST_GATEWAYS } from '#limiter';
import type { Redis } from 'ioredis';
import { PLATFORM_LOAD_KEY } from './redis-keys.js';
import { Script } from './scripts.js';

const script = new Script('report-load');

/** What all gateways together forward. */
export interface PlatformLoad {
  /** Requests a second, rounded up. */
  readonly perSecond: number;
  /** How many gateways have reported in the last three seconds, this one among them. 1 to MOST_GATEWAYS. */
  readonly gateways: number;
}

/**
 * Says that a gateway is alive and what it forwards, and learns the same of all. Rejects with ioredis' error when Redis is away, and with an
 * error where what it answers makes no sense.
 */
export async function reportLoad(redis: Redis, gateway: string, perSecond: number): Promise<PlatformLoad> {
  const reply: unknown = await script.run(redis, [PLATFORM_LOAD_KEY], [gateway, perSecond.toFixed(3)]);
  const [total, gateways] = Array.isArray(reply) ? (reply as unknown[]) : [];
  if (!isWholeWithin(total, 0, Number.MAX_SAFE_INTEGER) || !isWholeWithin(gateways, 1, MOST_GATEWAYS)) {
    throw new Error(`no number of gateways that can be: ${JSON.stringify(reply)?.slice(0, 100)}`);
  }
  return { perSecond: total, gateways };
}

/** The others need not wait until it has been silent for long enough. Rejects with ioredis' error when Redis is away. */
export async function leaveGateways(redis: Redis, gateway: string): Promise<void> {
  await script.run(redis, [PLATFORM_LOAD_KEY], [gateway, '']);
}

function isWholeWithin(value: unknown, min: number, max: number): value is number {
  return Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}
