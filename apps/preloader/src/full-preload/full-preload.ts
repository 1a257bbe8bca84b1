import { type DefaultRulesSnapshot, type MerchantSnapshot, UnreadableError } from '#limiter';
import { withDeadline } from '#waiting';
import { preloadBuckets, type RedisSnapshotStore } from '#limiter-redis';
import type { Logger } from '#platform';
import { type PreloadWalk, type ReloadJobData } from '#rule-sync';
import { isReadable, type RuleReader, type UnreadableMerchant } from '#rules-db';
import type { Redis } from 'ioredis';
import type { PreloaderMetrics } from '../metrics.js';
import type { Parts } from '../parts.js';

/** Chunks on their way to Redis at once, while the next one is read from PostgreSQL. More than this gained nothing. */
const CHUNKS_IN_FLIGHT = 3;

/** A chunk that takes longer counts as failed: a Redis that is frozen says nothing at all. */
const CHUNK_TIMEOUT_MS = 15_000;

/** More merchants than this that cannot be carried is not their fault: the run fails instead of flooding the queue. */
const MAX_SET_ASIDE = 1_000;

export interface FullPreloadOptions {
  readonly reader: RuleReader;
  readonly store: RedisSnapshotStore;
  readonly redis: Redis;
  readonly parts: Parts;
  readonly metrics: PreloaderMetrics;
  readonly logger: Logger;
  /** Hands a merchant that could not be carried to the queue of single reloads, where it is retried and set aside. */
  readonly enqueueReloads: (reloads: ReloadJobData[]) => Promise<void>;
  readonly chunkMerchants: number;
  readonly ttlMs: number;
}

/** The walk through all merchants. Holds a few chunks in memory, however many merchants there are. */
export class FullPreload {
  constructor(private readonly options: FullPreloadOptions) {}

  /** The beginning of a walk: the default rules first, because every merchant needs them. */
  async begin(jobId: string, nowMs: number): Promise<PreloadWalk> {
    const { reader, store } = this.options;
    const [defaultRules, total] = await Promise.all([readableDefaults(reader), reader.merchantCount()]);
    const walk = { jobId, cursor: null, done: 0, setAside: 0, total, startedAtMs: nowMs, resumes: 0 };
    if (defaultRules instanceof UnreadableError) {
      await this.unreadable({ merchantId: null, version: 0 }, defaultRules);
      return { ...walk, setAside: 1 };
    }
    if (await store.writeDefaultRules(defaultRules)) await store.announce([null]);
    return walk;
  }

  /**
   * Walks on from `walk.cursor`. `checkpoint` is awaited after each chunk, in the order of the merchants, and only when
   * everything up to its cursor is in Redis. Ends early, resumable, when `signal` aborts.
   */
  async continue(walk: PreloadWalk, checkpoint: (walk: PreloadWalk) => Promise<void>, signal: AbortSignal): Promise<PreloadWalk> {
    const { reader, chunkMerchants } = this.options;
    const writing: Promise<ChunkResult>[] = [];
    const settleOldest = async (): Promise<void> => {
      walk = advance(walk, await (writing.shift() as Promise<ChunkResult>));
      if (walk.setAside > MAX_SET_ASIDE) throw new Error(`more than ${MAX_SET_ASIDE} merchants could not be carried to Redis`);
      await checkpoint(walk);
    };

    let reading = handled(reader.snapshotsAfter(walk.cursor, chunkMerchants));
    try {
      while (!signal.aborted) {
        const chunk = await reading;
        const last = chunk.at(-1);
        if (last === undefined) break;
        reading = handled(reader.snapshotsAfter(last.merchantId, chunkMerchants));
        writing.push(handled(this.carry(chunk, last.merchantId)));
        if (writing.length >= CHUNKS_IN_FLIGHT) await settleOldest();
      }
      while (writing.length > 0) await settleOldest();
      return walk;
    } finally {
      // Nothing of this walk may still be at work when another worker takes it up.
      await Promise.allSettled([reading, ...writing]);
    }
  }

  private async carry(chunk: (MerchantSnapshot | UnreadableMerchant)[], cursor: string): Promise<ChunkResult> {
    const usable: MerchantSnapshot[] = [];
    for (const merchant of chunk) {
      if (isReadable(merchant)) usable.push(merchant);
      else await this.unreadable(merchant, merchant.unreadable);
    }
    const written = await this.writeAsFarAsPossible(usable);
    this.options.metrics.preloadedMerchants.inc(written);
    return { cursor, merchants: chunk.length, setAside: chunk.length - written };
  }

  /** If all parts answer and yet a chunk fails, something is wrong with one of its merchants: the others must not wait for it. */
  private async writeAsFarAsPossible(chunk: MerchantSnapshot[]): Promise<number> {
    try {
      await this.write(chunk);
      return chunk.length;
    } catch (error) {
      if ((await this.options.parts.outageBehind(error)) !== undefined) throw error;
    }
    let written = 0;
    for (const snapshot of chunk) {
      try {
        await this.write([snapshot]);
        written += 1;
      } catch (error) {
        if ((await this.options.parts.outageBehind(error)) !== undefined) throw error;
        await this.setAside(snapshot, error);
      }
    }
    return written;
  }

  private async write(chunk: MerchantSnapshot[]): Promise<void> {
    const { store, redis, metrics, ttlMs } = this.options;
    const writes = Promise.all([store.write(chunk, ttlMs), preloadBuckets(redis, chunk, ttlMs)]);
    const [{ written }] = await withDeadline(writes, CHUNK_TIMEOUT_MS, { what: 'writing a chunk to Redis' });
    metrics.snapshotsWritten.inc(written);
  }

  private async unreadable(whose: { merchantId: string | null; version: number }, error: UnreadableError): Promise<void> {
    this.options.metrics.unreadable('rules');
    await this.setAside(whose, error);
  }

  /** A job of its own retries it, and is set aside where everybody can see it if that does not help. */
  private async setAside({ merchantId, version }: { merchantId: string | null; version: number }, err: unknown): Promise<void> {
    const { enqueueReloads, logger, metrics } = this.options;
    logger.warn({ merchantId, version, err }, 'rules could not be preloaded, a reload of their own is queued');
    await enqueueReloads([{ merchantId, version, changedAtMs: null }]);
    metrics.preloadSetAside.inc();
  }
}

interface ChunkResult {
  readonly cursor: string;
  readonly merchants: number;
  readonly setAside: number;
}

function advance(walk: PreloadWalk, { cursor, merchants, setAside }: ChunkResult): PreloadWalk {
  return { ...walk, cursor, done: walk.done + merchants, setAside: walk.setAside + setAside };
}

async function readableDefaults(reader: RuleReader): Promise<DefaultRulesSnapshot | UnreadableError> {
  try {
    return await reader.defaultRules();
  } catch (error) {
    if (error instanceof UnreadableError) return error;
    throw error;
  }
}

/** For a promise that is awaited later: its failure is not an unhandled one until then. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
