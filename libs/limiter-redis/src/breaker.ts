import { DeadlineError, withDeadline, type RunningTime } from '#waiting';
import { storeFailure, type StoreFailure } from './redis-error.js';

/** Between a failure and the first probe, and between probes. */
const FIRST_PAUSE_MS = 50;
/** A breaker that opens again and again gets to this, and no further: it is also how late a return may be noticed. */
const LONGEST_PAUSE_MS = 1000;
/** Between a fault of the connection and the probe that finds out what it means: most connections are back by then. */
const SUSPICION_MS = 1000;
/** A breaker that stayed closed for so long begins anew with the first pause. */
const STEADY_MS = 5000;
/** A probe without an answer by then is given up. Far longer than a take may last: what is slow is not yet dead. */
const PROBE_DEADLINE_MS = 500;
/** After so many in a row the connection is taken for dead. */
const MISSES_OF_A_DEAD_CONNECTION = 2;

export interface BreakerOptions {
  /** Does what the guarded calls do, a write included, and says why it failed if it did. Does not reject. */
  probe: () => Promise<StoreFailure | undefined>;
  /** A probe that is answered later shows a server that is too slow. Milliseconds of running time. */
  deadlineMs: number;
  time: Pick<RunningTime, 'after'>;
  /** Replaces a connection on which nothing is answered any more. */
  reconnect: () => void;
  onChange?: (closed: boolean) => void;
  /** Told of every failure, of calls and of probes. */
  onFailure?: (failure: StoreFailure) => void;
}

/**
 * Knows whether Redis carries out takes. Opens at the first call that fails or is late; from then on only a probe decides,
 * until one is carried out in time. The probe is a take, because a server may answer everything else: a replica and a full
 * server answer PING.
 *
 * A server that carries out probes and fails other calls would open and close it without end. Each time that it opens soon
 * after it closed it therefore waits twice as long before it probes, up to a bound.
 */
export class Breaker {
  private why: StoreFailure | undefined;
  private pauseMs = FIRST_PAUSE_MS;
  private closedAtMs = -Infinity;
  private misses = 0;
  private timer: NodeJS.Timeout | undefined;
  private asking = false;
  private stopped = false;

  constructor(private readonly options: BreakerOptions) {}

  get closed(): boolean {
    return this.why === undefined;
  }

  /** The latest reason while it is open. */
  get failure(): StoreFailure | undefined {
    return this.why;
  }

  failed(failure: StoreFailure): void {
    if (this.stopped) return;
    if (failure.sparesOthers && this.why === undefined) {
      this.options.onFailure?.(failure);
      return;
    }
    const opens = this.why === undefined;
    this.why = failure;
    if (opens) {
      const soon = performance.now() - this.closedAtMs < STEADY_MS;
      this.pauseMs = soon ? Math.min(2 * this.pauseMs, LONGEST_PAUSE_MS) : FIRST_PAUSE_MS;
      this.options.onChange?.(false);
      this.scheduleProbe();
    }
    this.options.onFailure?.(failure);
  }

  /**
   * The connection has failed. A probe finds out soon whether takes are carried out, even where none comes: a process that is asked for nothing must not say that
   * all is well.
   */
  suspect(): void {
    if (this.closed && this.timer === undefined && !this.asking) this.scheduleProbe(SUSPICION_MS);
  }

  /** No more probes, no more calls back. */
  close(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private scheduleProbe(afterMs = this.pauseMs): void {
    clearTimeout(this.timer);
    if (!this.stopped) this.timer = setTimeout(() => void this.ask(), afterMs);
  }

  /** One probe at a time: a frozen server must not wake up to a heap of them. */
  private async ask(): Promise<void> {
    this.timer = undefined;
    if (this.asking) return;
    this.asking = true;
    await this.probe();
    this.asking = false;
    if (!this.closed) this.scheduleProbe();
  }

  private async probe(): Promise<void> {
    const askedAtMs = performance.now();
    let isLate = false;
    const callOff = this.options.time.after(this.options.deadlineMs, () => (isLate = true));
    const answer = await withDeadline(this.options.probe(), PROBE_DEADLINE_MS, { time: this.options.time }).catch(onlyIfLate);
    callOff();
    if (this.stopped) return;
    const tookMs = performance.now() - askedAtMs;
    if (answer === undefined && !isLate) {
      this.succeeded();
      return;
    }
    const missed = answer instanceof DeadlineError;
    this.countMiss(missed);
    this.failed(answer === undefined || missed ? storeFailure('TIMEOUT', `a probe had no answer within ${Math.floor(tookMs)} ms`) : answer);
  }

  private succeeded(): void {
    this.misses = 0;
    if (this.closed) return;
    this.why = undefined;
    this.closedAtMs = performance.now();
    this.options.onChange?.(true);
  }

  private countMiss(missed: boolean): void {
    this.misses = missed ? this.misses + 1 : 0;
    if (this.misses < MISSES_OF_A_DEAD_CONNECTION) return;
    this.misses = 0;
    this.options.reconnect();
  }
}

function onlyIfLate(error: unknown): DeadlineError {
  if (error instanceof DeadlineError) return error;
  throw error;
}
