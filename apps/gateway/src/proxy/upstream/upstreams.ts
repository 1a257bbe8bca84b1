import { Upstream, type UpstreamCounts, type UpstreamOptions, type UpstreamSurroundings } from './upstream.js';

/**
 * The upstreams of a gateway. Those that another set of routes leaves as they were stay, with their connections and what is known of their health; those
 * that it drops or changes serve the requests that have begun, and then end.
 */
export class Upstreams {
  private current: readonly Upstream[] = [];
  private readonly retired = new Set<Upstream>();
  private counts = new Map<string, UpstreamCounts>();

  constructor(private readonly surroundings: UpstreamSurroundings) {}

  /** Puts these in place of the present ones. */
  replace(all: readonly UpstreamOptions[]): readonly Upstream[] {
    const known = new Map(this.current.map((upstream) => [textOf(upstream.options), upstream]));
    const counts = new Map(all.map(({ name }) => [name, this.counts.get(name) ?? noCounts()]));
    const next = all.map((options) => known.get(textOf(options)) ?? new Upstream(options, counts.get(options.name)!, this.surroundings));
    for (const upstream of this.current) if (!next.includes(upstream)) this.retired.add(upstream);
    this.current = next;
    this.counts = counts;
    return next;
  }

  get all(): readonly Upstream[] {
    return this.current;
  }

  /** Requests that hold a slot of any. */
  get used(): number {
    return this.sum(({ slots }) => slots.used);
  }

  /** Requests that wait for a slot of any. */
  get waiting(): number {
    return this.sum(({ slots }) => slots.waiting);
  }

  /** Requests that all of them may have at once before they have begun to answer. */
  get limit(): number {
    return this.sum(({ slots }) => slots.limit);
  }

  /** Requests that they have and have not begun to answer. */
  get inFlight(): number {
    return this.sum(({ slots }) => slots.inFlight);
  }

  /** Ends the waiting of requests that have waited for too long, and what nothing needs any more. */
  tick(nowMs: number): void {
    for (const { slots } of this.current) slots.tick(nowMs);
    for (const upstream of this.retired) {
      upstream.slots.tick(nowMs);
      if (!upstream.idle) continue;
      this.retired.delete(upstream);
      void upstream.destroy();
    }
  }

  /** Cuts all connections. */
  async destroy(): Promise<void> {
    await Promise.all([...this.current, ...this.retired].map((upstream) => upstream.destroy()));
  }

  private sum(of: (upstream: Upstream) => number): number {
    let sum = 0;
    for (const upstream of this.current) sum += of(upstream);
    for (const upstream of this.retired) sum += of(upstream);
    return sum;
  }
}

function noCounts(): UpstreamCounts {
  return { answered: 0, failed: 0, connectRetries: 0, ejections: 0 };
}

/** The same for the same upstream. */
function textOf(options: UpstreamOptions): string {
  return JSON.stringify(options);
}
