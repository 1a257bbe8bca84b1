import { Counter, Gauge, type Metric, type Registry } from 'prom-client';
import { LatencyHistogram } from './latency-histogram.js';
import { SHED_REASONS, type ShedReason } from './shedding.js';
import type { UpstreamSlots } from './upstream-slots.js';
import { UPSTREAM_FAILURES, type UpstreamFailure } from './upstream-failure.js';

/** How an exchange with a client ended. */
export const Outcome = {
  /** The upstream's answer was passed on whole. */
  Forwarded: 0,
  /** Admission said no. */
  Refused: 1,
  /** Not understood or not supported, too slow, or there was no room for it; the upstream has not seen it whole. */
  Rejected: 2,
  /** The upstream failed, before or in the middle of its answer. */
  UpstreamError: 3,
  /** The client went away before it had its answer. */
  ClientClosed: 4,
} as const;

export type Outcome = (typeof Outcome)[keyof typeof Outcome];

const OUTCOMES = ['forwarded', 'refused', 'rejected', 'upstream_error', 'client_closed'];
const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx', '6xx', '7xx', '8xx', '9xx'];

/** What the data plane counts: plain numbers while requests run, metrics only when they are scraped. */
export class ProxyMetrics {
  /** Requests that were begun and not yet ended. */
  inFlight = 0;
  /** The slots that requests take, once there are some. */
  slots: Pick<UpstreamSlots, 'used' | 'waiting'> = { used: 0, waiting: 0 };

  private readonly requests = new Float64Array(OUTCOMES.length * STATUS_CLASSES.length);
  private readonly failures = new Map<UpstreamFailure, number>(UPSTREAM_FAILURES.map((kind) => [kind, 0]));
  private readonly sheds = new Map<ShedReason, number>(SHED_REASONS.map((reason) => [reason, 0]));
  private readonly durations = new LatencyHistogram(
    'tollgate_request_duration_seconds',
    'Time from the request headers to the end of the answer.',
  );

  /** @param status the status of the answer that the client was given, 0 if none */
  ended(outcome: Outcome, status: number, durationMs: number): void {
    this.requests[outcome * STATUS_CLASSES.length + Math.trunc(status / 100)]! += 1;
    this.durations.observe(durationMs);
  }

  upstreamFailed(kind: UpstreamFailure): void {
    this.failures.set(kind, this.failures.get(kind)! + 1);
  }

  shed(reason: ShedReason): void {
    this.sheds.set(reason, this.sheds.get(reason)! + 1);
  }

  /** Requests that ended with this outcome so far. */
  count(outcome: Outcome): number {
    const start = outcome * STATUS_CLASSES.length;
    return this.requests.subarray(start, start + STATUS_CLASSES.length).reduce((sum, count) => sum + count, 0);
  }

  /** Makes the metrics part of what the registry hands out. */
  register(registry: Registry): void {
    const { requests, failures, sheds } = this;
    const registers = [registry];
    new Counter({
      name: 'tollgate_requests_total',
      help: 'Requests by how they ended and by the class of the status that the client was given.',
      labelNames: ['outcome', 'status_class'],
      registers,
      collect() {
        this.reset();
        requests.forEach((count, i) => {
          if (count === 0) return;
          const outcome = OUTCOMES[Math.trunc(i / STATUS_CLASSES.length)]!;
          this.inc({ outcome, status_class: STATUS_CLASSES[i % STATUS_CLASSES.length]! }, count);
        });
      },
    });
    new Counter({
      name: 'tollgate_upstream_errors_total',
      help: 'Exchanges with the upstream that failed, by kind.',
      labelNames: ['kind'],
      registers,
      collect() {
        this.reset();
        for (const [kind, count] of failures) this.inc({ kind }, count);
      },
    });
    new Counter({
      name: 'tollgate_shed_total',
      help: 'Requests that were refused or cut, and connections that were closed, to protect others, by reason.',
      labelNames: ['reason'],
      registers,
      collect() {
        this.reset();
        for (const [reason, count] of sheds) this.inc({ reason }, count);
      },
    });
    this.gauge(registry, 'tollgate_upstream_connections_used', 'Requests that hold a connection to the upstream.', () => this.slots.used);
    this.gauge(registry, 'tollgate_upstream_waiting', 'Requests that wait for a connection to the upstream.', () => this.slots.waiting);
    this.gauge(registry, 'tollgate_requests_in_flight', 'Requests that were begun and not yet ended.', () => this.inFlight);
    // The registry needs no more of a metric than `name` and `get`, which its types do not say.
    registry.registerMetric(this.durations as unknown as Metric);
  }
  private gauge(registry: Registry, name: string, help: string, value: () => number): void {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  }
}
