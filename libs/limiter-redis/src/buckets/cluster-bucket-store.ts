import type {
  Bucket,
  BucketLevel,
  BucketOperation,
  BucketReading,
  BucketTake,
  LendAnswer,
  LendRequest,
  Receipt,
  SlotHolder,
  TakeAnswer,
  TakeRequest,
} from '#limiter';
import type { Cluster } from 'ioredis';
import { connectionTo, keyAt, PerMaster, type MasterName } from '../connection/per-master.js';
import { refreshSlots } from '../connection/redis-connection.js';
import { RedisBucketStore, type RedisBuckets, type RedisBucketStoreOptions, type StoreServer } from './redis-bucket-store.js';
import { clusterBucketKey } from '../redis-keys.js';
import type { StoreFailure } from '../connection/redis-error.js';
import { partsGivenBack, partsOf, retryAt, TakeInParts } from './take-in-parts.js';

/** A master that is away must not make the others say all the time where the slots are. */
const REFRESHED_AT_MOST_EVERY_MS = 200;

/**
 * Buckets in a Redis Cluster: a store of its own for each master, with its own breaker, clock and queue. So a master that is away concerns nobody but the
 * merchants whose buckets it has.
 */
export class ClusterBucketStore implements RedisBuckets {
  private readonly masters: PerMaster<RedisBucketStore>;
  private readonly away = new Set<MasterName>();
  private refreshedAtMs = -Infinity;

  constructor(
    private readonly cluster: Cluster,
    private readonly options: RedisBucketStoreOptions = {},
  ) {
    this.masters = new PerMaster(
      cluster,
      (master) => this.storeOf(master),
      (store) => store.close(),
    );
    cluster.on('refresh', this.onRefresh);
  }

  /** That of one of the masters, and while all are away what one has said last: their clocks agree as far as their machines do. */
  get clockOffsetMs(): number {
    let offsetMs = 0;
    for (const store of this.masters.all()) {
      if (store.available) return store.clockOffsetMs;
      offsetMs ||= store.clockOffsetMs;
    }
    return offsetMs;
  }

  get available(): boolean {
    return this.away.size === 0;
  }

  get readable(): boolean {
    const stores = [...this.masters.all()];
    return stores.length === 0 || stores.some(({ readable }) => readable);
  }

  get failure(): StoreFailure | undefined {
    for (const { failure } of this.masters.all()) if (failure !== undefined) return failure;
    return undefined;
  }

  readonly watch = (answered: Promise<void>, key: string): void => this.masters.of(key).watch(answered);

  take(request: TakeRequest, answer: TakeAnswer): void {
    const parts = partsOf(request.takes);
    const [part] = parts;
    if (parts.length > 1) {
      new TakeInParts(parts, request, (key) => this.masters.of(key), answer).start();
      return;
    }
    const { holder, spare } = request;
    this.masters.of(part!.tag).take({ takes: part!.takes, holder, spare, retry: retryAt(part!, request) }, answer);
  }

  release({ takes, holder }: SlotHolder): void {
    for (const part of partsGivenBack({ takes, holder })) this.masterOf(part).release(part);
  }

  refund(receipt: Receipt): void {
    // By which clock it was taken: that of the part that was asked first.
    const [first] = partsOf(receipt.takes);
    const takenBy = this.masters.of(first!.tag);
    for (const part of partsGivenBack(receipt)) {
      const master = this.masterOf(part);
      if (!('levels' in part)) master.release(part);
      else master.refund({ ...part, takenAtUs: part.takenAtUs + Math.round((master.clockOffsetMs - takenBy.clockOffsetMs) * 1000) });
    }
  }

  lend(request: LendRequest, answer: LendAnswer): void {
    const key = clusterBucketKey(request.key);
    this.masters.of(key).lend({ ...request, key }, answer);
  }

  operate(key: string, bucket: Bucket, operation: BucketOperation): Promise<BucketReading> {
    const name = clusterBucketKey(key);
    return this.masters.of(name).operate(name, bucket, operation);
  }

  look(take: BucketTake): Promise<BucketLevel> {
    const key = clusterBucketKey(take.key);
    return this.masters.of(key).look({ ...take, key });
  }

  close(): void {
    this.cluster.off('refresh', this.onRefresh);
    for (const store of this.masters.all()) store.close();
  }

  private masterOf({ takes }: SlotHolder): RedisBucketStore {
    return this.masters.of(takes[0]!.key);
  }

  private storeOf(master: MasterName): RedisBucketStore {
    const { onAvailability, onFailure } = this.options;
    const connection = () => connectionTo(this.cluster, master);
    const server: StoreServer = {
      master,
      stream: () => connection()?.stream,
      reconnect: () => connection()?.stream?.destroy(),
      probeKey: () => keyAt(this.cluster, master, 'probe') ?? 'probe',
    };
    return new RedisBucketStore(
      this.cluster,
      {
        ...this.options,
        onAvailability: (available) => this.changed(onAvailability, () => (available ? this.away.delete(master) : this.away.add(master))),
        onFailure: (failure) => {
          this.refresh();
          onFailure?.(master === '' ? failure : { ...failure, node: master });
        },
      },
      server,
    );
  }

  private changed(tell: ((available: boolean) => void) | undefined, change: () => void): void {
    const before = this.available;
    change();
    if (this.available !== before) tell?.(this.available);
  }

  /** The slots of a master that fails may have another one by now. */
  private refresh(): void {
    const nowMs = performance.now();
    if (nowMs - this.refreshedAtMs < REFRESHED_AT_MOST_EVERY_MS) return;
    this.refreshedAtMs = nowMs;
    refreshSlots(this.cluster);
  }

  /** A master that has lost its slots is no longer missed. */
  private readonly onRefresh = (): void => {
    this.masters.tidy();
    this.changed(this.options.onAvailability, () => {
      const stillThere = new Set(this.masters.names());
      for (const master of this.away) if (!stillThere.has(master)) this.away.delete(master);
    });
  };
}
