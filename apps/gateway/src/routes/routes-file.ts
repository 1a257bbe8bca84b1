import { readFileSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { Logger } from '#platform';
import type { Routing } from '../proxy/index.js';
import { MOST_FILE_BYTES, readRoutes, type RouteDefaults, RoutesError } from './read-routes.js';

/** How often the file is looked at. Milliseconds. */
const LOOK_EVERY_MS = 1_000;

/** A file that is being written is taken once two looks have found the same. Milliseconds. */
const LOOK_AGAIN_MS = 250;

/**
 * The file with the routes. It is looked at once a second, because notices of file systems get lost (volumes of containers, links that are
 * replaced); and at once on SIGHUP. A file that is wrong changes nothing: the routes that were last right stay.
 */
export class RoutesFile {
  applied = 0;
  refused = 0;

  /** What was judged last: the text, or why there was none. */
  private judged: string;
  /** What the last look has found. */
  private seen: string | undefined;
  private faults: readonly string[] = [];
  private timer: NodeJS.Timeout | undefined;
  private looking = false;
  private asked = false;
  private listener: { readonly logger: Logger; readonly apply: (routes: Routing) => void } | undefined;

  private constructor(
    private readonly path: string,
    private readonly defaults: RouteDefaults,
    /** As the file was at first. */
    readonly routes: Routing,
    text: string,
  ) {
    this.judged = text;
  }

  /**
   * Reads it for the first time.
   *
   * @throws RoutesError if there are no routes to begin with
   */
  static open(path: string, defaults: RouteDefaults): RoutesFile {
    const text = openedText(path);
    return new RoutesFile(path, defaults, readRoutes(text, defaults), text);
  }

  /** Calls `apply` with other routes whenever the file has some, until `close`. */
  watch(logger: Logger, apply: (routes: Routing) => void): void {
    this.listener = { logger, apply };
    process.on('SIGHUP', this.onSignal);
    this.lookIn(LOOK_EVERY_MS);
  }

  close(): void {
    this.listener = undefined;
    process.off('SIGHUP', this.onSignal);
    clearTimeout(this.timer);
  }

  /** Whether the routes are those of the file. */
  get isValid(): boolean {
    return this.faults.length === 0;
  }

  /** @throws Error that says why they are not */
  readonly assertValid = (): void => {
    if (!this.isValid) throw new Error(`the routes file is wrong, the former routes stay: ${this.faults.join('; ')}`);
  };

  /** The signal says that the file is complete, and asks for a line of the log in any case. */
  private readonly onSignal = (): void => {
    this.asked = true;
    if (!this.looking) this.lookIn(0);
  };

  private lookIn(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.look(), ms).unref();
  }

  private async look(): Promise<void> {
    this.looking = true;
    const { asked } = this;
    this.asked = false;
    const found = await this.read();
    this.looking = false;
    if (this.listener === undefined) return;
    const changed = found.key !== this.judged;
    const complete = found.key === this.seen;
    this.seen = found.key;
    if (asked || (changed && complete)) this.judge(found);
    this.lookIn(this.asked ? 0 : changed && !complete && !asked ? LOOK_AGAIN_MS : LOOK_EVERY_MS);
  }

  private async read(): Promise<Found> {
    try {
      const { size } = await stat(this.path);
      if (size > MOST_FILE_BYTES) return { key: tooLong(size), text: undefined };
      const text = await readFile(this.path, 'utf8');
      return { key: text, text };
    } catch (error) {
      return { key: cannotBeRead(error), text: undefined };
    }
  }

  private judge({ key, text }: Found): void {
    this.judged = key;
    const { logger, apply } = this.listener!;
    try {
      if (text === undefined) throw new RoutesError([key]);
      const routes = readRoutes(text, this.defaults);
      apply(routes);
      this.applied++;
      this.faults = [];
      logger.info(
        { file: this.path, upstreams: routes.upstreams.length, routes: routes.routes.length },
        'the routes of the file are in use',
      );
    } catch (error) {
      if (!(error instanceof RoutesError)) throw error;
      this.refused++;
      this.faults = error.faults;
      logger.error({ file: this.path, faults: error.faults }, 'the routes file is wrong, the former routes stay');
    }
  }
}

interface Found {
  /** Tells it from something else that may be found. */
  readonly key: string;
  readonly text: string | undefined;
}

function openedText(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > MOST_FILE_BYTES) throw new RoutesError([tooLong(size)]);
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw error instanceof RoutesError ? error : new RoutesError([cannotBeRead(error)]);
  }
}

function tooLong(bytes: number): string {
  return `the file has ${bytes} bytes, more than ${MOST_FILE_BYTES}`;
}

function cannotBeRead(error: unknown): string {
  return `the file cannot be read: ${(error as NodeJS.ErrnoException).code ?? String(error)}`;
}
