import { UnreadableError } from '#limiter';
import { withDeadline } from '#waiting';
import {
  createBuckets,
  createBucketsOf,
  isCluster,
  MerchantBatch,
  type MerchantInBatch,
  type RedisConnection,
  type RedisSnapshotStore,
  type SnapshotFormat,
  versionIn,
} from '#limiter-redis';
import type { Logger } from '#platform';
import type { PreloadWalk, ReloadJobData, ReloadSubject } from '#rule-sync';
import type { MerchantRows, RuleReader, UnreadableMerchant } from '#rules-db';
import type { PreloaderMetrics } from '../metrics.js';
import type { Dependencies } from '../dependencies.js';
import { MerchantTexts } from './merchant-texts.js';

/** How many chunks are written to Redis at once, while the next one is read from PostgreSQL. More than this was not faster. */
const CHUNKS_IN_FLIGHT = 3;

/** A chunk whose writing takes longer than this many milliseconds counts as failed: a frozen Redis never answers. */
const CHUNK_TIMEOUT_MS = 15_000;

/** If more merchants than this cannot be written, the cause lies elsewhere: the run fails instead of flooding the queue. */
const MAX_SKIPPED = 1_000;

export interface FullPreloadOptions {
  readonly reader: RuleReader;
  readonly store: RedisSnapshotStore;
  readonly redis: RedisConnection;
  readonly dependencies: Dependencies;
  readonly metrics: PreloaderMetrics;
  readonly logger: Logger;
  /** Hands merchants that could not be written to the queue of single reloads, which retries them. */
  readonly enqueueReloads: (reloads: ReloadJobData[]) => Promise<void>;
  readonly chunkMerchants: number;
  readonly ttlMs: number;
}

/** The walk through all merchants. It holds a few chunks in memory, however many merchants there are. */
export class FullPreload {
  private readonly texts = new MerchantTexts();

  constructor(private readonly options: FullPreloadOptions) {}

  /** Begins a walk. The default rules are written first, because every merchant needs them, then the plans, which merchants share. */
  async begin(jobId: string, nowMs: number): Promise<PreloadWalk> {
    const { reader, store } = this.options;
    const [defaultRules, total] = await Promise.all([readable(reader.defaultRules()), reader.merchantCount()]);
    const walk = { jobId, cursor: null, done: 0, skipped: 0, total, startedAtMs: nowMs, resumes: 0 };
    if (defaultRules instanceof UnreadableError) await this.skipUnreadable({ merchantId: null, version: 0 }, defaultRules);
    else if (await store.writeDefaultRules(defaultRules)) await store.announce([null]);
    const skipped = (defaultRules instanceof UnreadableError ? 1 : 0) + (await this.writePlans());
    return { ...walk, skipped };
  }

  /** One after the other: they are few, and each may be large. Returns how many were skipped. */
  private async writePlans(): Promise<number> {
    const { reader, store, metrics } = this.options;
    let skipped = 0;
    for (const name of await reader.planNames()) {
      const plan = await readable(reader.plan(name));
      if (plan instanceof UnreadableError) {
        await this.skipUnreadable({ merchantId: null, plan: name, version: 0 }, plan);
        skipped += 1;
      } else if (plan !== null && (await withDeadline(store.writePlan(plan), CHUNK_TIMEOUT_MS, { what: 'writing a plan to Redis' }))) {
        metrics.snapshotsWritten.inc();
        await store.announcePlans([name]);
      }
    }
    return skipped;
  }

  /**
   * Continues from `walk.cursor` and returns how far it came. `onReached` is called after each chunk, in the order of the merchants,
   * and only when everything up to its cursor is in Redis; what it throws ends the walk. If `signal` aborts, the walk ends early and can be resumed.
   */
  async continue(walk: PreloadWalk, onReached: (walk: PreloadWalk) => void, signal: AbortSignal): Promise<PreloadWalk> {
    const writing: Promise<ChunkResult>[] = [];
    // Asked one chunk ahead: the answer comes behind the chunks that are being written, and PostgreSQL shall not wait for these.
    let format = handled(this.format());
    const read = (afterMerchantId: string | null): Promise<Chunk> => {
      const asked = format;
      format = handled(this.format());
      return handled(this.read(afterMerchantId, asked));
    };
    const settleOldest = async (): Promise<void> => {
      walk = advance(walk, await (writing.shift() as Promise<ChunkResult>));
      if (walk.skipped > MAX_SKIPPED) throw new Error(`more than ${MAX_SKIPPED} merchants could not be written to Redis`);
      onReached(walk);
    };

    let reading = read(walk.cursor);
    try {
      while (!signal.aborted) {
        const chunk = await reading;
        const { lastId } = chunk;
        if (lastId === undefined) break;
        reading = read(lastId);
        writing.push(handled(this.writeReadable(chunk, lastId)));
        if (writing.length >= CHUNKS_IN_FLIGHT) await settleOldest();
      }
      while (writing.length > 0) await settleOldest();
      return walk;
    } finally {
      // No write of this walk may still be under way when another worker resumes it.
      await Promise.allSettled([format, reading, ...writing]);
    }
  }

  private format(): Promise<SnapshotFormat> {
    return withDeadline(this.options.store.format(), CHUNK_TIMEOUT_MS, { what: 'asking Redis who reads snapshots' });
  }

  /** Reads a chunk and makes what is to be written of it. */
  private async read(afterMerchantId: string | null, asked: Promise<SnapshotFormat>): Promise<Chunk> {
    const { reader, chunkMerchants } = this.options;
    const format = await asked;
    let last: MerchantRows | undefined;
    const chunk = { batch: new MerchantBatch(), unreadable: [] as UnreadableMerchant[], format };
    const read = await reader.merchantsAfter(afterMerchantId, chunkMerchants, (merchant) => {
      const made = this.texts.of(merchant, format);
      if ('unreadable' in made) chunk.unreadable.push(made);
      else chunk.batch.add(made);
      last = merchant;
    });
    return { ...chunk, merchants: read.length, lastId: last?.merchantId };
  }

  private async writeReadable({ batch, unreadable, merchants, format }: Chunk, cursor: string): Promise<ChunkResult> {
    for (const merchant of unreadable) await this.skipUnreadable(merchant, merchant.unreadable);
    const written = await this.writeOrSkip(batch, format);
    this.options.metrics.preloadedMerchants.inc(written);
    return { cursor, merchants, skipped: merchants - written };
  }

  /** Writes a chunk. If that fails although all dependencies answer, one of its merchants is at fault: then each is written by itself. */
  private async writeOrSkip(batch: MerchantBatch, format: SnapshotFormat): Promise<number> {
    if (batch.length === 0) return 0;
    try {
      await this.write(batch, format);
      return batch.length;
    } catch (error) {
      if ((await this.options.dependencies.outageBehind(error)) !== undefined) throw error;
    }
    let written = 0;
    for (const merchant of batch.merchants()) {
      try {
        await this.writeEach([merchant], format);
        written += 1;
      } catch (error) {
        if ((await this.options.dependencies.outageBehind(error)) !== undefined) throw error;
        await this.skip({ merchantId: merchant.merchantId, version: versionIn(merchant.text) }, error);
      }
    }
    return written;
  }

  private async write(batch: MerchantBatch, format: SnapshotFormat): Promise<void> {
    const { store, redis, metrics, ttlMs } = this.options;
    // In a cluster each lies in a slot of its own, and one call is for one slot.
    if (isCluster(redis)) return this.writeEach([...batch.merchants()], format);
    const writes = Promise.all([store.writeBatch(batch, format, ttlMs), createBucketsOf(redis, batch, ttlMs)]);
    const [{ written }] = await withDeadline(writes, CHUNK_TIMEOUT_MS, { what: 'writing a chunk to Redis' });
    metrics.snapshotsWritten.inc(written);
  }

  private async writeEach(merchants: readonly MerchantInBatch[], format: SnapshotFormat): Promise<void> {
    const { store, redis, metrics, ttlMs } = this.options;
    const buckets = merchants.flatMap((merchant) => merchant.buckets);
    const writes = Promise.all([store.writeAs(merchants, format, ttlMs), createBuckets(redis, buckets, ttlMs)]);
    const [{ written }] = await withDeadline(writes, CHUNK_TIMEOUT_MS, { what: 'writing a chunk to Redis' });
    metrics.snapshotsWritten.inc(written);
  }

  private async skipUnreadable(whose: Whose, error: UnreadableError): Promise<void> {
    this.options.metrics.unreadable('rules');
    await this.skip(whose, error);
  }

  /** Leaves a merchant to a job of its own, which retries it and, if that does not help, is listed as a failed job. */
  private async skip({ merchantId, plan, version }: Whose, err: unknown): Promise<void> {
    const { enqueueReloads, logger, metrics } = this.options;
    logger.warn({ merchantId, plan, version, err }, 'rules could not be preloaded and are left to a reload job of their own');
    await enqueueReloads([{ merchantId, ...(plan !== undefined && { plan }), version, changedAtMs: null }]);
    metrics.preloadSkippedMerchants.inc();
  }
}

interface Whose extends ReloadSubject {
  readonly version: number;
}

interface Chunk {
  readonly batch: MerchantBatch;
  readonly unreadable: readonly UnreadableMerchant[];
  /** How many there are of both. */
  readonly merchants: number;
  /** Undefined if there are none. */
  readonly lastId: string | undefined;
  readonly format: SnapshotFormat;
}

interface ChunkResult {
  readonly cursor: string;
  readonly merchants: number;
  readonly skipped: number;
}

function advance(walk: PreloadWalk, { cursor, merchants, skipped }: ChunkResult): PreloadWalk {
  return { ...walk, cursor, done: walk.done + merchants, skipped: walk.skipped + skipped };
}

async function readable<T>(read: Promise<T>): Promise<T | UnreadableError> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof UnreadableError) return error;
    throw error;
  }
}

/** Marks a promise that is awaited later, so that its rejection is not reported as unhandled until then. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
