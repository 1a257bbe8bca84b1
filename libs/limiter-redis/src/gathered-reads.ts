import { runningTime, type RunningTime } from '#waiting';
import type { Redis } from 'ioredis';

interface Read {
  readonly key: string;
  readonly resolve: (bytes: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** While Redis does not answer; one more fails at once. */
const MOST_WAITING = 10_000;

/** What reads fail with while Redis is silent. One for all: thousands may fail together. */
const SILENT = new Error('Redis has not answered in time');

export interface GatheredReadsOptions {
  /** How long a write with reads waits for its answers, in milliseconds of running time; for ever unless given. */
  readonly deadlineMs?: number;
  /** Told of each write with reads, which ends when all of them are answered. Never rejects. */
  readonly watch?: (answered: Promise<void>) => void;
  /** By which the deadline counts. For tests. */
  readonly time?: Pick<RunningTime, 'after'>;
}

/**
 * Reads texts from Redis. What is asked for while a read is under way goes with the next one, in one write: a single read waits for nothing, and a
 * flood of them costs a fraction. Where Redis has not answered in time, they fail, and so do further ones until it has: what is sent behind them would
 * wait at least as long.
 */
export class GatheredReads {
  private waiting: Read[] = [];
  private underWay = false;
  private silent = false;

  constructor(
    private readonly redis: Redis,
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
      if (!this.underWay) void this.send();
    });
  }

  private async send(): Promise<void> {
    this.underWay = true;
    while (this.waiting.length > 0) {
      const reads = this.waiting;
      this.waiting = [];
      const answered = this.answer(reads);
      this.options.watch?.(answered);
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

  /** Never rejects. */
  private async answer(reads: readonly Read[]): Promise<void> {
    const pipeline = this.redis.pipeline();
    for (const { key } of reads) pipeline.getrangeBuffer(key, 0, this.mostBytes);
    try {
      const answers = await pipeline.exec();
      reads.forEach(({ resolve, reject }, i) => {
        const [error, bytes] = answers?.[i] ?? [new Error('no answer')];
        if (error) reject(error);
        else resolve(bytes as Buffer);
      });
    } catch (error) {
      for (const { reject } of reads) reject(error as Error);
    }
  }
}
