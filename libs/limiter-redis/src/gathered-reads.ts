import { runningTime, type RunningTime } from '#waiting';
import { isCluster, type RedisConnection } from './redis-connection.js';
import { Script } from './scripts.js';

const script = new Script('read-texts');

interface Read {
  readonly key: string;
  readonly resolve: (bytes: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** While Redis does not answer; one more fails at once. */
const MOST_WAITING = 10_000;

/** Redis holds the answers to a call in memory until the last one is read. */
const MOST_IN_A_CALL = 256;

/** What reads fail with while Redis is silent. One for all: thousands may fail together. */
const SILENT = new Error('Redis has not answered in time');

/** Hardly more than a round trip on a busy machine. */
const BETWEEN_CALLS_MS = 2;

export interface GatheredReadsOptions {
  /** A call starts so long after the one before at the earliest. Milliseconds. */
  readonly betweenCallsMs?: number;
  /** How long a call waits for its answers, in milliseconds of running time; for ever unless given. */
  readonly deadlineMs?: number;
  /** Told of each call, which ends when all of its reads are answered, and of one of its keys. Never rejects. */
  readonly watch?: (answered: Promise<void>, key: string) => void;
  /** By which the deadline counts. For tests. */
  readonly time?: Pick<RunningTime, 'after'>;
}

/**
 * Reads texts from Redis. What is asked for while a call is under way goes with the next one, which starts some time after it: a single read waits for nothing, and
 * in a flood, where each call would ask for one or two, they cost a quarter less. A script, because ioredis' pipelines cost the collector of garbage ten times as much. Where Redis has not answered in time, they fail, and so do further ones until it has: what is sent behind them would
 * wait at least as long.
 */
export class GatheredReads {
  private readonly waiting: Read[] = [];
  private underWay = false;
  private silent = false;
  private sentAtMs = -Infinity;

  constructor(
    private readonly redis: RedisConnection,
    /** Of each text; what is longer is cut there. */
    private readonly mostBytes: number,
    private readonly options: GatheredReadsOptions = {},
  ) {}

  /** Empty if there is nothing of this name. Rejects with ioredis' error, or because Redis is silent. */
  read(key: string): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (this.silent) throw SILENT;
      if (this.waiting.length >= MOST_WAITING) throw new Error('too many reads are waiting for Redis');
      this.waiting.push({ key, resolve, reject });
      if (!this.underWay) this.begin();
    });
  }

  private begin(): void {
    this.underWay = true;
    const { betweenCallsMs = BETWEEN_CALLS_MS } = this.options;
    const sinceMs = performance.now() - this.sentAtMs;
    if (sinceMs < betweenCallsMs) setTimeout(() => void this.send(), betweenCallsMs - sinceMs);
    else void this.send();
  }

  private async send(): Promise<void> {
    while (this.waiting.length > 0) {
      this.sentAtMs = performance.now();
      const reads = this.waiting.splice(0, MOST_IN_A_CALL);
      const answered = this.answer(reads);
      this.options.watch?.(answered, reads[0]!.key);
      const callOff = this.failLate(reads);
      await answered;
      callOff?.();
      this.silent = false;
    }
    this.underWay = false;
  }

  private failLate(reads: readonly Read[]): (() => void) | undefined {
    const { deadlineMs, time = runningTime } = this.options;
    if (deadlineMs === undefined) return undefined;
    return time.after(deadlineMs, () => {
      this.silent = true;
      for (const { reject } of [...reads, ...this.waiting.splice(0)]) reject(SILENT);
    });
  }

  /** Never rejects. In a cluster each read is a call of its own: they are of different merchants. */
  private async answer(reads: readonly Read[]): Promise<void> {
    if (isCluster(this.redis)) await Promise.all(reads.map((read) => this.answerTogether([read])));
    else await this.answerTogether(reads);
  }

  private async answerTogether(reads: readonly Read[]): Promise<void> {
    try {
      const keys = reads.map(({ key }) => key);
      const answers = (await script.run(this.redis, keys, [String(this.mostBytes)])) as (Buffer | Error)[];
      reads.forEach(({ resolve, reject }, i) => {
        const bytes = answers[i];
        if (Buffer.isBuffer(bytes)) resolve(bytes);
        else reject(bytes ?? new Error('no answer'));
      });
    } catch (error) {
      for (const { reject } of reads) reject(error as Error);
    }
  }
}
