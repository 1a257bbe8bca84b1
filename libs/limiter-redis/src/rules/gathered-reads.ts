import { runningTime, type RunningTime } from '#waiting';
import { isCluster, type RedisConnection } from '../connection/redis-connection.js';
import { Script } from '../scripts.js';

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

/**
 * Answers that are handed out in one turn of the event loop. With each goes the whole decision about a request, so those of a large call would stand for
 * milliseconds before the answers to takes that have arrived meanwhile.
 */
const MOST_IN_A_TURN = 8;

/** Hardly more than a round trip on a busy machine. */
const BETWEEN_CALLS_MS = 2;

export interface GatheredReadsOptions {
  /** A call starts so long after the one before at the earliest. Milliseconds. */
  readonly betweenCallsMs?: number;
  /** How long a call waits for its answers, in milliseconds of running time; for ever unless given. */
  readonly deadlineMs?: number;
  /** Told of each call, which ends when its answers have come, and of one of its keys. Never rejects. */
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
      const asked = this.ask(reads);
      this.options.watch?.(
        asked.then(() => {}),
        reads[0]!.key,
      );
      const callOff = this.failLate(reads);
      const answers = await asked;
      callOff?.();
      this.silent = false;
      await handOut(reads, answers);
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

  /**
   * The answers in the order of the reads, or why there are none. Never rejects. In a cluster each read is a call of its own: they are of different
   * merchants.
   */
  private async ask(reads: readonly Read[]): Promise<readonly (Buffer | Error)[] | Error> {
    if (!isCluster(this.redis)) return this.askTogether(reads);
    const answers = await Promise.all(reads.map((read) => this.askTogether([read])));
    return answers.map((answer) => (answer instanceof Error ? answer : answer[0]!));
  }

  private async askTogether(reads: readonly Read[]): Promise<readonly (Buffer | Error)[] | Error> {
    try {
      const keys = reads.map(({ key }) => key);
      return (await script.run(this.redis, keys, [String(this.mostBytes)])) as (Buffer | Error)[];
    } catch (error) {
      return error as Error;
    }
  }
}

async function handOut(reads: readonly Read[], answers: readonly (Buffer | Error)[] | Error): Promise<void> {
  for (const [i, { resolve, reject }] of reads.entries()) {
    if (i > 0 && i % MOST_IN_A_TURN === 0) await new Promise((next) => setImmediate(next));
    const answer = answers instanceof Error ? answers : (answers[i] ?? new Error('no answer'));
    if (answer instanceof Error) reject(answer);
    else resolve(answer);
  }
}
