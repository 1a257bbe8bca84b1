import type { Metric, Registry } from 'prom-client';

/** From half a millisecond to half a minute. */
export const SECONDS_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds of the buckets in the unit of the metric, ascending. */
  readonly bounds: readonly number[];
  /** How many of what is observed are one of the unit of the metric: 1000 where milliseconds are observed and seconds are shown. */
  readonly perUnit?: number;
  /** A label, and its values: a series each. */
  readonly label?: { readonly name: string; readonly values: readonly string[] };
}

/** A Prometheus histogram whose observation is two additions; prom-client's own builds objects for each. */
export class Histogram {
  readonly name: string;
  private readonly bounds: Float64Array;
  private readonly counts: Float64Array;
  private readonly sums: Float64Array;

  constructor(private readonly options: HistogramOptions) {
    const { bounds, label, name, perUnit = 1 } = options;
    const series = label?.values.length ?? 1;
    this.name = name;
    this.bounds = Float64Array.from(bounds, (bound) => bound * perUnit);
    this.counts = new Float64Array((bounds.length + 1) * series);
    this.sums = new Float64Array(series);
  }

  /** @param series index of the label's value */
  observe(value: number, series = 0): void {
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    this.counts[series * (bounds.length + 1) + bucket]! += 1;
    this.sums[series]! += value;
  }

  register(registry: Registry): void {
    // The registry needs no more of a metric than `name` and `get`, which its types do not say.
    registry.registerMetric(this as unknown as Metric);
  }

  /** What prom-client's registry asks of a metric when it is scraped. */
  async get() {
    const { help, label } = this.options;
    const labelled = label === undefined ? [{}] : label.values.map((value) => ({ [label.name]: value }));
    const values = labelled.flatMap((labels, series) => this.samples(labels, series));
    return { name: this.name, help, type: 'histogram', aggregator: 'sum', values };
  }

  private samples(labels: Readonly<Record<string, string>>, series: number) {
    const { name, options } = this;
    const start = series * (options.bounds.length + 1);
    let total = 0;
    const buckets = [...options.bounds, '+Inf' as const].map((le, i) => {
      total += this.counts[start + i]!;
      return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total };
    });
    const sum = this.sums[series]! / (options.perUnit ?? 1);
    return [...buckets, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: total }];
  }
}
