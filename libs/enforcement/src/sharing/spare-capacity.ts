import type { SpareCapacity } from '#limiter';
import type { PlatformLoad } from '#limiter-redis';
import { withDeadline } from '#waiting';

export interface SpareCapacityOptions {
  /** Requests a second that the upstream can carry, from all gateways together. */
  readonly capacityPerSecond: number;
  /** Tells the other gateways what this one forwards, and how much all do. */
  readonly report: (perSecond: number) => Promise<PlatformLoad>;
  /** Exchanges that the upstream has failed, ever: one that fails has nothing to spare. */
  readonly upstreamErrors: () => number;
  /** Milliseconds. */
  readonly now?: () => number;
}

const MEASURED_EVERY_MS = 1000;

/**
 * What the upstream can carry beyond its present load: its stated capacity, less what all gateways have forwarded in the last
 * second within their limits. Each gateway may pass its share of that above elastic limits in the next second. What passed
 * in this way is not counted as load: it gives way as soon as what is within the limits needs the room.
 *
 * Without a measurement there is none to spare: before the first one, while Redis is away, after a second in which the
 * upstream has failed.
 */
export class MeasuredSpareCapacity implements SpareCapacity {
  private readonly now: () => number;
  private forwarded = 0;
  private errorsBefore = 0;
  private measuredAtMs: number;
  private period = 1;
  private room = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: SpareCapacityOptions) {
    this.now = options.now ?? (() => performance.now());
    this.measuredAtMs = this.now();
  }

  start(): void {
    this.timer = setInterval(() => void this.measure(), MEASURED_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.timer);
    this.room = 0;
  }

  /** Requests that this gateway may still pass above elastic limits before the next measurement. */
  get left(): number {
    return this.room;
  }

  reserve(): number {
    if (this.room === 0) return 0;
    this.room--;
    return this.period;
  }

  giveBack(reservation: number): void {
    // What is left of an earlier second is not for this one.
    if (reservation === this.period) this.room++;
  }

  /** A request was forwarded that no elastic limit had to step aside for. */
  countForwarded(): void {
    this.forwarded++;
  }

  async measure(): Promise<void> {
    const { capacityPerSecond, report, upstreamErrors } = this.options;
    const nowMs = this.now();
    const seconds = Math.max(0.001, (nowMs - this.measuredAtMs) / 1000);
    const perSecond = this.forwarded / seconds;
    const errors = upstreamErrors();
    const failed = errors > this.errorsBefore;
    this.forwarded = 0;
    this.errorsBefore = errors;
    this.measuredAtMs = nowMs;
    const room = await withDeadline(report(perSecond), MEASURED_EVERY_MS / 2).then(
      (load) => (failed ? 0 : Math.floor((Math.max(0, capacityPerSecond - load.perSecond) * MEASURED_EVERY_MS) / 1000 / load.gateways)),
      () => 0,
    );
    this.period++;
    this.room = room;
  }
}
