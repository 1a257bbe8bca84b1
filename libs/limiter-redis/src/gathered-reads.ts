import type { Redis } from 'ioredis';

interface Read {
  readonly key: string;
  readonly resolve: (bytes: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** While Redis does not answer; one more fails at once. */
const MOST_WAITING = 10_000;

/**
 * Reads texts from Redis. What is asked for while a read is under way goes with the next one, in one write: a single read waits for nothing, and a
 * flood of them costs a fraction.
 */
export class GatheredReads {
  private waiting: Read[] = [];
  private underWay = false;

  constructor(
    private readonly redis: Redis,
    /** Of each text; what is longer is cut there. */
    private readonly mostBytes: number,
    /** Told of each write with reads, which ends when all of them are answered. Never rejects. */
    private readonly watch: (answered: Promise<void>) => void = () => {},
  ) {}

  /** Empty if there is nothing of this name. Rejects with ioredis' error. */
  read(key: string): Promise<Buffer> {
    return new Promise((resolve, reject) => {
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
      this.watch(answered);
      await answered;
    }
    this.underWay = false;
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
