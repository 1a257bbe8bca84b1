import { gauge } from '#metrics';
import type { Registry } from 'prom-client';

/** So many counts are looked at: a gateway that is missing from one of them, because Redis has just come back empty, is alive all the same. */
const COUNTS = 3;

/**
 * How many gateways are alive, as far as this one has heard: among so many a limit is shared while Redis is away. Keeps what it has heard last,
 * because gateways do not die of an outage of Redis.
 */
export class LiveGateways {
  private readonly counts: number[] = [];

  /** @param assumed until it has heard of any */
  constructor(private readonly assumed: number) {}

  /** The most that was counted lately: who joins counts at once, who leaves after as many counts. A share is rather too small than too large. */
  get count(): number {
    return this.counts.length === 0 ? this.assumed : Math.max(...this.counts);
  }

  heard(count: number): void {
    this.counts.push(count);
    if (this.counts.length > COUNTS) this.counts.shift();
  }

  register(registry: Registry): void {
    const help = 'Gateways that were alive when Redis was last asked: among so many local limits are shared.';
    gauge(registry, 'tollgate_live_gateways', help, () => this.count, 'max');
  }
}
