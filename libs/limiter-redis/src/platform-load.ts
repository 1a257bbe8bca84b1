import type { Redis } from 'ioredis';
import { PLATFORM_LOAD_KEY } from './redis-keys.js';
import { Script } from './scripts.js';

const script = new Script('report-load');

/** What all gateways together forward. */
export interface PlatformLoad {
  /** Requests a second, rounded up. */
  readonly perSecond: number;
  /** How many gateways have reported lately, this one among them. */
  readonly gateways: number;
}

/** Says what one gateway forwards, and learns what all do. Rejects with ioredis' error when Redis is away. */
export async function reportLoad(redis: Redis, gateway: string, perSecond: number): Promise<PlatformLoad> {
  const [total, gateways] = (await script.run(redis, [PLATFORM_LOAD_KEY], [gateway, perSecond.toFixed(3)])) as [number, number];
  return { perSecond: total, gateways };
}
