import { createHash } from 'node:crypto';
import { LIMIT_EVENT_KINDS, type LimitEvent, RedisLimitEventStore, type RedisConnection } from '#limiter-redis';
import type { Logger } from '#platform';
import { type LimitReached, recordLimitEvents, wantedEvents } from '#rules-db';
import { withDeadline } from '#waiting';
import type { DataSource } from 'typeorm';
import { Rounds } from '../rounds.js';

/** The time between two looks for limits that gateways have noted, in milliseconds. */
const INTERVAL_MS = 1_000;
/** How often gateways are told, by way of Redis, whether some webhook wants to know, in milliseconds. */
const WANTED_EVERY_MS = 5_000;
/** A Redis that does not answer by then is asked again in the next round, in milliseconds. */
const REDIS_DEADLINE_MS = 2_000;
/** Events of one statement. */
const AT_ONCE = 200;

export interface LimitEventsOptions {
  readonly dataSource: DataSource;
  readonly redis: RedisConnection;
  readonly logger: Logger;
  readonly onUnreadable: () => void;
  /** Milliseconds that never step back. */
  readonly now?: () => number;
}

/**
 * Carries limits that are nearly or wholly used, as gateways note them in Redis, into the outbox of webhooks. An event leaves Redis when it stands in
 * PostgreSQL, so it gets there at least once; its id is made of what it says, so it stands there once. Several preloaders may do it at once.
 */
export function limitEvents(options: LimitEventsOptions): Rounds {
  const { dataSource, redis, logger, onUnreadable, now = () => performance.now() } = options;
  const store = new RedisLimitEventStore(redis, onUnreadable);
  let wantedAtMs = -Infinity;
  return new Rounds({
    round: async () => {
      if (now() - wantedAtMs >= WANTED_EVERY_MS) {
        await inTime(store.want(await wantedEvents(dataSource, LIMIT_EVENT_KINDS)));
        wantedAtMs = now();
      }
      return (await carryLimitEvents(store, dataSource)) === AT_ONCE;
    },
    canRun: () => dataSource.isInitialized && redis.status === 'ready',
    intervalMs: INTERVAL_MS,
    onFailing: (err) => logger.warn({ err }, 'limits that are nearly used cannot be told; they wait in Redis'),
  });
}

/** @returns how many there were */
export async function carryLimitEvents(store: RedisLimitEventStore, dataSource: DataSource): Promise<number> {
  const waiting = await inTime(store.oldest(AT_ONCE));
  await recordLimitEvents(
    dataSource,
    waiting.flatMap(({ id, event }) => (event === undefined ? [] : [reached(id, event)])),
  );
  await inTime(store.remove(waiting.map(({ id }) => id)));
  return waiting.length;
}

function inTime<T>(work: Promise<T>): Promise<T> {
  return withDeadline(work, REDIS_DEADLINE_MS, { what: 'Redis' });
}

/** @param id of the entry in Redis */
function reached(id: string, { kind: type, atMs, ...use }: LimitEvent): LimitReached {
  return { messageId: uuidOf(JSON.stringify([id, type, atMs, use])), type, at: new Date(atMs), ...use };
}

/** A uuid of version 8 (RFC 9562): the first bits of a SHA-256. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
