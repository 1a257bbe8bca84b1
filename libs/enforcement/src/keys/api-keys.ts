import { SieveCache, type CacheEntry } from '#limiter';
import { withDeadline } from '#waiting';
import { Gate } from '../rules/gate.js';
import type { LookupAllowance } from '../rules/lookup-allowance.js';
import { RulesUnavailableError, TOO_MANY_UNKNOWN_IDS, TooManyUnknownError } from '../rules/rule-source.js';
import type { ApiKeySource, KnownApiKey } from './api-key-source.js';

interface Entry extends CacheEntry {
  readonly key: KnownApiKey;
}

interface Missing extends CacheEntry {
  readonly atMs: number;
}

export interface ApiKeysOptions {
  readonly source: ApiKeySource;
  /** For prefixes that belong to no key. */
  readonly unknown: Pick<LookupAllowance, 'allows' | 'take' | 'giveBack'>;
  /** What keys may take in memory, by estimate; those that are used seldom go first. */
  readonly maxBytes?: number;
  readonly deadlineMs?: number;
  /** Milliseconds that never step back. */
  readonly now?: () => number;
  /** Does something later. */
  readonly schedule?: (work: () => void, ms: number) => NodeJS.Timeout;
}

/** With its merchant in the index, without labels. */
const KEY_BYTES = 1_000;
/** Beside its texts, of at most two bytes a character. */
const LABEL_BYTES = 100;
const MISSING_BYTES = 250;
const MISSING_MAX_BYTES = 2 ** 20;
/** A prefix that belonged to no key is looked up again after so long: it may be that of a new key. */
const MISSING_FOR_MS = 1_000;
/** When keys that changed could not be read, it is tried again after so long. Until then the old ones go on. */
const RETRY_MS = 500;
/** Keys that are read again with one question. */
const READ_AT_ONCE = 500;
const LOOKUPS_AT_ONCE = 4;
const MOST_WAITING = 1_000;

/**
 * The API keys in use. A key is looked up once and then remembered. When its merchant changes, the keys of the merchant are read again beside the requests, which
 * go by the old ones meanwhile: no request of a known key waits for the rule source, and an outage of it changes nothing.
 */
export class ApiKeys {
  private readonly known: SieveCache<Entry>;
  private readonly missing = new SieveCache<Missing>(MISSING_MAX_BYTES);
  /** Prefixes by merchant. Those that the cache has dropped are removed from time to time. */
  private prefixes = new Map<string, Set<string>>();
  private indexed = 0;
  private readonly stale = new Set<string>();
  private refreshing: Promise<void> | undefined;
  private retry: NodeJS.Timeout | undefined;
  private isWaiting = false;
  private changes = 0;
  private closed = false;
  private readonly loading = new Map<string, Promise<KnownApiKey | null>>();
  private readonly gate = new Gate(LOOKUPS_AT_ONCE, MOST_WAITING);
  private readonly now: () => number;
  private readonly deadlineMs: number;

  constructor(private readonly options: ApiKeysOptions) {
    const { maxBytes = 32 * 2 ** 20, deadlineMs = 2_000, now = () => performance.now() } = options;
    this.known = new SieveCache(maxBytes);
    this.now = now;
    this.deadlineMs = deadlineMs;
  }

  get size(): number {
    return this.known.size;
  }

  /** The key of a prefix if it is at hand; null if there was none a moment ago; undefined: it has to be loaded. */
  get(prefix: string): KnownApiKey | null | undefined {
    const entry = this.known.get(prefix);
    if (entry !== undefined) return entry.key;
    const missing = this.missing.get(prefix);
    return missing !== undefined && this.now() - missing.atMs < MISSING_FOR_MS ? null : undefined;
  }

  /**
   * Reads what `get` did not have; requests with the same prefix share one read.
   *
   * @param peer the address that sends it
   * @throws RulesUnavailableError; TooManyUnknownError if this peer, or all together, tried too many that do not exist
   */
  load(prefix: string, peer: string): Promise<KnownApiKey | null> {
    let loading = this.loading.get(prefix);
    if (loading === undefined) {
      loading = this.read(prefix, peer).finally(() => this.loading.delete(prefix));
      this.loading.set(prefix, loading);
    }
    return loading;
  }

  /** A merchant has changed, or one of its keys. */
  changed(merchantId: string | null): void {
    this.changes++;
    if (merchantId !== null) this.markStale(merchantId);
    this.refresh();
  }

  /** The same for all merchants for which it holds. */
  changedSome(concerns: (merchantId: string) => boolean): void {
    this.changes++;
    for (const merchantId of [...this.prefixes.keys()]) if (concerns(merchantId)) this.markStale(merchantId);
    this.refresh();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.retry);
  }

  private async read(prefix: string, peer: string): Promise<KnownApiKey | null> {
    const { source, unknown } = this.options;
    if (!unknown.allows(peer)) throw TOO_MANY_UNKNOWN_IDS;
    const changesBefore = this.changes;
    const [key = null] = await this.bounded(() =>
      this.gate.run(async () => {
        // It may have waited, and others may have spent the rest of the allowance meanwhile.
        if (!unknown.take(peer)) throw TOO_MANY_UNKNOWN_IDS;
        return source.apiKeys([prefix]);
      }),
    );
    if (key === null) {
      this.missing.set(prefix, { used: false, bytes: MISSING_BYTES, atMs: this.now() });
      return null;
    }
    unknown.giveBack(peer);
    this.put(key);
    // It may have changed while it was read.
    if (this.changes !== changesBefore) {
      this.stale.add(prefix);
      this.refresh();
    }
    return key;
  }

  private async bounded<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await withDeadline(read(), this.deadlineMs);
    } catch (error) {
      if (error instanceof TooManyUnknownError) throw error;
      throw new RulesUnavailableError(`API keys could not be read: ${(error as Error).message}`, { cause: error });
    }
  }

  private put(key: KnownApiKey): void {
    this.missing.delete(key.prefix);
    this.known.set(key.prefix, { key, used: false, bytes: bytesOf(key) });
    let prefixes = this.prefixes.get(key.merchantId);
    if (prefixes === undefined) this.prefixes.set(key.merchantId, (prefixes = new Set()));
    if (prefixes.has(key.prefix)) return;
    prefixes.add(key.prefix);
    this.indexed++;
    if (this.indexed > 2 * this.known.size + 1_000) this.indexAnew();
  }

  private indexAnew(): void {
    this.prefixes = new Map();
    this.indexed = 0;
    for (const [prefix, { key }] of this.known) {
      const prefixes = this.prefixes.get(key.merchantId);
      if (prefixes === undefined) this.prefixes.set(key.merchantId, new Set([prefix]));
      else prefixes.add(prefix);
      this.indexed++;
    }
  }

  private markStale(merchantId: string): void {
    for (const prefix of this.prefixes.get(merchantId) ?? []) if (this.known.peek(prefix) !== undefined) this.stale.add(prefix);
  }

  /** One at a time: what becomes stale meanwhile is read after it. */
  private refresh(): void {
    if (this.stale.size === 0 || this.refreshing !== undefined || this.isWaiting || this.closed) return;
    this.refreshing = this.readStale().finally(() => {
      this.refreshing = undefined;
      this.refresh();
    });
  }

  private async readStale(): Promise<void> {
    const some = [...this.stale].slice(0, READ_AT_ONCE);
    for (const prefix of some) this.stale.delete(prefix);
    try {
      const found = await this.bounded(() => this.options.source.apiKeys(some));
      const left = new Set(some);
      for (const key of found) if (left.delete(key.prefix) && this.known.peek(key.prefix) !== undefined) this.put(key);
      for (const prefix of left) this.known.delete(prefix);
    } catch {
      for (const prefix of some) this.stale.add(prefix);
      if (this.closed) return;
      this.isWaiting = true;
      this.retry = (this.options.schedule ?? setTimeout)(() => {
        this.isWaiting = false;
        this.refresh();
      }, RETRY_MS);
    }
  }
}

function bytesOf({ apiKey: { labels } }: KnownApiKey): number {
  return Object.entries(labels).reduce((bytes, [name, value]) => bytes + LABEL_BYTES + 2 * (name.length + value.length), KEY_BYTES);
}
