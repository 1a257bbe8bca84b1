import { UnreadableError } from '#limiter';
import type { Redis } from 'ioredis';
import { PLATFORM_LOAD_KEY } from './redis-keys.js';
import { Script } from './scripts.js';
import type { OnUnreadable, Parsed } from './stored.js';

const script = new Script('report-load');

/** What all gateways together forward. */
export interface PlatformLoad {
  /** Requests a second, rounded up. */
  readonly perSecond: number;
  /** How many gateways have reported lately, this one among them. */
  readonly gateways: number;
}

/** Says what one gateway forwards, and learns what all do. Rejects with ioredis' error when Redis is away, and if it gives no such answer. */
export async function reportLoad(redis: Redis, gateway: string, perSecond: number, onUnreadable: OnUnreadable = () => {}): Promise<PlatformLoad> {
  const load = parsePlatformLoad(await script.run(redis, [PLATFORM_LOAD_KEY], [gateway, perSecond.toFixed(3)]));
  if ('value' in load) return load.value;
  onUnreadable({ kind: 'load', ...load });
  throw new UnreadableError(`load reports: ${load.detail}`);
}

/** Never throws. The script adds up what stands in a hash that anybody can write to. */
export function parsePlatformLoad(answer: unknown): Parsed<PlatformLoad> {
  const [perSecond, gateways] = Array.isArray(answer) ? (answer as unknown[]) : [];
  const fits = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  return fits(perSecond) && fits(gateways) && gateways > 0 ? { value: { perSecond, gateways } } : { reason: 'malformed', detail: 'must be a load and a number of gateways' };
}
