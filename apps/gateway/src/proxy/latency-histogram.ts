const BUCKETS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000];

/** A Prometheus histogram whose observation is two additions; prom-client's own builds objects for each. */
export class LatencyHistogram {
  private readonly counts = new Float64Array(BUCKETS_MS.length + 1);
  private sumMs = 0;

  constructor(
    readonly name: string,
    readonly help: string,
  ) {}

  observe(durationMs: number): void {
    let bucket = 0;
    while (bucket < BUCKETS_MS.length && durationMs > BUCKETS_MS[bucket]!) bucket++;
    this.counts[bucket]! += 1;
    this.sumMs += durationMs;
  }

  /** What prom-client's registry asks of a metric when it is scraped. */
  async get() {
    const values = [];
    let total = 0;
    for (const [bucket, boundMs] of BUCKETS_MS.entries()) {
      total += this.counts[bucket]!;
      values.push({ metricName: `${this.name}_bucket`, labels: { le: boundMs / 1000 }, value: total });
    }
    total += this.counts[BUCKETS_MS.length]!;
    values.push({ metricName: `${this.name}_bucket`, labels: { le: '+Inf' }, value: total });
    values.push({ metricName: `${this.name}_sum`, labels: {}, value: this.sumMs / 1000 });
    values.push({ metricName: `${this.name}_count`, labels: {}, value: total });
    return { name: this.name, help: this.help, type: 'histogram', aggregator: 'sum', values };
  }
}
