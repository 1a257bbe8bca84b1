import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { withDeadline } from '#waiting';
import type { Logger } from '#platform';
import { CountryDatabase } from './country-database.js';

/** How often it is looked whether the file has changed. A look is a call of the system, whatever the file. Milliseconds. */
const LOOK_EVERY_MS = 5_000;
/** So long a gateway waits for the file when it starts. Milliseconds. */
const START_WITHIN_MS = 3_000;
/** The largest databases of cities have half of it. The file is held in memory, and twice while it is replaced. */
const MOST_BYTES = 256 * 2 ** 20;

export interface CountryFileOptions {
  readonly path: string;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** By the clock on the wall, which the file's own time is compared with. */
  readonly nowMs?: () => number;
}

/**
 * An operator's file that says in which country addresses are. It is read again when it has changed, beside the requests; while a file is missing or bad, what was read before
 * stays in use. It is best replaced by renaming a new file to its name; a file that is seen half written is only read again.
 */
export class CountryFile {
  /** How often the file was read, could not be used, and was found broken at the record of an address. */
  readonly counts = { read: 0, failed: 0, broken_record: 0 };
  private database: CountryDatabase | undefined;
  /** Why the file cannot be used now. */
  private failure: string | undefined = 'it has not been read yet';
  /** What is wrong with what was read last. */
  private fault: string | undefined;
  /** By what a change of the file is noticed; undefined: it is read with the next look. */
  private seen: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  private readonly nowMs: () => number;

  constructor(private readonly options: CountryFileOptions) {
    this.nowMs = options.nowMs ?? Date.now;
  }

  /** Reads the file, and looks after it from then on. Resolves when it has been read or could not be, within bounded time; never rejects. */
  async open(): Promise<void> {
    await withDeadline(this.lookAgain(), START_WITHIN_MS).catch(() => {});
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  /** Reads the file if it has changed since it was read. Never rejects. */
  async look(): Promise<void> {
    let handle: FileHandle | undefined;
    try {
      // Of a pipe at this name nobody would ever see an end.
      handle = await open(this.options.path, constants.O_RDONLY | constants.O_NONBLOCK);
      const stats = await handle.stat({ bigint: true });
      const { ino, size, mtimeNs, ctimeNs } = stats;
      const found = [ino, size, mtimeNs, ctimeNs].join(' ');
      if (found === this.seen) {
        this.failure = this.fault;
        return;
      }
      if (!stats.isFile()) throw new Error('it is no file');
      if (size > MOST_BYTES) throw new Error(`it has more than ${MOST_BYTES} bytes`);
      const bytes = await handle.readFile();
      // From here on it is what it is: only another file is read again.
      this.seen = found;
      this.use(bytes);
    } catch (error) {
      this.failed(error as Error);
    } finally {
      await handle?.close().catch(() => {});
    }
  }

  /** @param address in canonical text. @returns undefined if nobody can say */
  readonly countryOf = (address: string): string | undefined => {
    try {
      return this.database?.countryOf(address);
    } catch (error) {
      this.counts.broken_record++;
      this.fault = `it is broken: ${(error as Error).message}`;
      this.say(this.fault);
      return undefined;
    }
  };

  /** Throws, with the reason, while the file cannot be used as it is now. */
  readonly assertUsable = (): void => {
    if (this.failure === undefined) return;
    const until = this.database === undefined ? 'no country is known' : 'an older one is used';
    throw new Error(`${this.options.path}: ${this.failure}; ${until}`);
  };

  /** How long ago the file in use was made, as the file says; 0 if there is none. */
  get ageSeconds(): number {
    return this.database === undefined ? 0 : Math.max(0, this.nowMs() - this.database.builtMs) / 1000;
  }

  private async lookAgain(): Promise<void> {
    await this.look();
    if (this.closed) return;
    this.timer = setTimeout(() => void this.lookAgain(), LOOK_EVERY_MS);
    this.timer.unref();
  }

  private use(bytes: Buffer): void {
    let database: CountryDatabase;
    try {
      database = new CountryDatabase(bytes);
    } catch (error) {
      this.fault = (error as Error).message;
      throw error;
    }
    this.database = database;
    this.failure = this.fault = undefined;
    this.counts.read++;
    const { path, logger } = this.options;
    logger.info({ path, madeAt: new Date(database.builtMs).toISOString() }, 'the file of countries was read');
  }

  private failed({ message }: Error): void {
    this.counts.failed++;
    this.say(message);
  }

  /** A reason is news once. */
  private say(failure: string): void {
    if (this.failure === failure) return;
    this.failure = failure;
    const { path, logger } = this.options;
    const kept = this.database === undefined ? 'no country is known' : 'the one that was read before is used';
    logger.warn({ path, reason: failure }, `the file of countries cannot be used: ${kept}`);
  }
}
