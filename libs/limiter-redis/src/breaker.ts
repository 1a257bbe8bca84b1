import type { Cluster, Redis } from 'ioredis';

/**
 * Knows whether Redis answers. Closed while it does; opens at the first call that fails or is late, and from then on
 * only a probe of its own asks Redis, until one is answered in time.
 */
export class Breaker {
  private isClosed = true;
  private probe: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(
    private readonly redis: Pick<Redis | Cluster, 'ping'>,
    private readonly options: { deadlineMs: number; probeEveryMs?: number; onChange?: (closed: boolean) => void },
  ) {}

  get closed(): boolean {
    return this.isClosed;
  }

  answered(): void {
    if (this.isClosed || this.stopped) return;
    this.isClosed = true;
    clearTimeout(this.probe);
    this.options.onChange?.(true);
  }

  failed(): void {
    if (!this.isClosed || this.stopped) return;
    this.isClosed = false;
    this.options.onChange?.(false);
    this.scheduleProbe();
  }

  close(): void {
    this.stopped = true;
    clearTimeout(this.probe);
  }

  private scheduleProbe(): void {
    if (this.stopped) return;
    this.probe = setTimeout(() => void this.ask(), this.options.probeEveryMs ?? 50);
  }

  /** One probe at a time: a frozen server must not wake up to a heap of them. */
  private async ask(): Promise<void> {
    const asked = performance.now();
    try {
      await this.redis.ping();
      if (performance.now() - asked <= this.options.deadlineMs) return this.answered();
    } catch {
      // Not yet.
    }
    this.scheduleProbe();
  }
}
