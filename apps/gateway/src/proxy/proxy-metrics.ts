import { counter, counterBy, gauge, gaugeBy, Histogram, SECONDS_BOUNDS } from '#metrics';
import { CRITICALITIES, type Criticality } from '#platform';
import type { Registry } from 'prom-client';
import { ADDRESS_STATES } from './upstream/address-health.js';
import { SHED_REASONS, type ShedReason } from './sharing/shedding.js';
import type { Upstream } from './upstream/upstream.js';
import type { UpstreamSlots } from './upstream/upstream-slots.js';
import { UPSTREAM_FAILURES, type UpstreamFailure } from './upstream/upstream-failure.js';

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

/** By their numbers. */
export const OUTCOMES = ['forwarded', 'refused', 'rejected', 'upstream_error', 'client_closed'];
const STATUS_CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx', '6xx', '7xx', '8xx', '9xx'];

/** What an exchange with the upstream spends its time on. Each is observed by itself: not every request waits, and few connect. */
export const UpstreamPhase = {
  /** Waiting for a slot, of requests that had to. */
  wait: 0,
  /** Opening a connection, TLS included. */
  connect: 1,
  /** From the request on its connection to the headers of the answer. */
  first_byte: 2,
  /** From the request on its connection to the end of the answer. */
  whole: 3,
} as const;

export type UpstreamPhase = (typeof UpstreamPhase)[keyof typeof UpstreamPhase];

/** What the data plane counts: plain numbers while requests run, metrics only when they are scraped. */
export class ProxyMetrics {
  /** Requests that were begun and not yet ended. */
  inFlight = 0;
  /** Requests that the fast lane has read, and connections that have left it for node:http. */
  fastRequests = 0;
  leftFastLane = 0;
  /** Connections that ended before TLS was spoken. */
  failedHandshakes = 0;
  /** The slots that requests take, once there are some. */
  slots: Pick<UpstreamSlots, 'used' | 'waiting' | 'limit' | 'inFlight'> = { used: 0, waiting: 0, limit: 0, inFlight: 0 };
  /** Those that are open. */
  webSockets: { readonly open: number } = { open: 0 };
  /** The present upstreams, by whose names some metrics go. */
  upstreams: { readonly all: readonly Upstream[] } = { all: [] };

  private readonly requests = new Float64Array(OUTCOMES.length * STATUS_CLASSES.length);
  private readonly failures = new Map<UpstreamFailure, number>(UPSTREAM_FAILURES.map((kind) => [kind, 0]));
  private readonly sheds = new Map<ShedReason, number>(SHED_REASONS.map((reason) => [reason, 0]));
  private readonly shedByCriticality = new Map<Criticality, number>(CRITICALITIES.map((each) => [each, 0]));
  private readonly durations = new Histogram({
    name: 'tollgate_request_duration_seconds',
    help: 'Time from the request headers to the end of the answer.',
    bounds: SECONDS_BOUNDS,
    perUnit: 1000,
  });
  private readonly upstream = new Histogram({
    name: 'tollgate_upstream_duration_seconds',
    help: 'Time of exchanges with the upstream, by phase.',
    bounds: SECONDS_BOUNDS,
    perUnit: 1000,
    label: { name: 'phase', values: Object.keys(UpstreamPhase) },
  });

  /** @param status the status of the answer that the client was given, 0 if none */
  ended(outcome: Outcome, status: number, durationMs: number): void {
    this.requests[outcome * STATUS_CLASSES.length + Math.trunc(status / 100)]! += 1;
    this.durations.observe(durationMs);
  }

  upstreamFailed(kind: UpstreamFailure): void {
    this.failures.set(kind, this.failures.get(kind)! + 1);
  }

  upstreamTook(phase: UpstreamPhase, durationMs: number): void {
    this.upstream.observe(durationMs, phase);
  }

  shed(reason: ShedReason): void {
    this.sheds.set(reason, this.sheds.get(reason)! + 1);
  }

  /** A request of this criticality got no connection to the upstream. */
  shedOf(criticality: Criticality): void {
    this.shedByCriticality.set(criticality, this.shedByCriticality.get(criticality)! + 1);
  }

  /** Requests that ended with this outcome so far. */
  count(outcome: Outcome): number {
    const start = outcome * STATUS_CLASSES.length;
    return this.requests.subarray(start, start + STATUS_CLASSES.length).reduce((sum, count) => sum + count, 0);
  }

  /** Makes the metrics part of what the registry hands out. */
  register(registry: Registry): void {
    counterBy(
      registry,
      'tollgate_requests_total',
      'Requests by how they ended and by the class of the status that the client was given.',
      ['outcome', 'status_class'],
      () => this.outcomes(),
    );
    counterBy(registry, 'tollgate_upstream_errors_total', 'Exchanges with the upstream that failed, by kind.', ['kind'], () =>
      oneLabel(this.failures),
    );
    counterBy(
      registry,
      'tollgate_shed_total',
      'Requests that were refused or cut, and connections that were closed, to protect others, by reason.',
      ['reason'],
      () => oneLabel(this.sheds),
    );
    counter(registry, 'tollgate_fast_lane_requests_total', 'Requests that the fast lane has read.', () => this.fastRequests);
    counter(registry, 'tollgate_fast_lane_left_total', 'Connections that left the fast lane for node:http.', () => this.leftFastLane);
    counter(registry, 'tollgate_tls_handshakes_failed_total', 'Connections that ended before TLS was spoken.', () => this.failedHandshakes);
    counterBy(
      registry,
      'tollgate_upstream_shed_total',
      'Requests that were refused because no connection to the upstream was there for them, by criticality.',
      ['criticality'],
      () => oneLabel(this.shedByCriticality),
    );
    gauge(registry, 'tollgate_upstream_limit', 'Requests that may wait for the upstream at once.', () => this.slots.limit);
    gauge(registry, 'tollgate_upstream_in_flight', 'Requests that wait for the upstream to begin its answer.', () => this.slots.inFlight);
    gauge(registry, 'tollgate_upstream_connections_used', 'Requests that hold a connection to the upstream.', () => this.slots.used);
    gauge(registry, 'tollgate_upstream_waiting', 'Requests that wait for a connection to the upstream.', () => this.slots.waiting);
    gauge(registry, 'tollgate_requests_in_flight', 'Requests that were begun and not yet ended.', () => this.inFlight);
    gauge(registry, 'tollgate_websockets_open', 'WebSockets that are open, handshakes included.', () => this.webSockets.open);
    this.registerUpstreams(registry);
    this.durations.register(registry);
    this.upstream.register(registry);
  }

  private registerUpstreams(registry: Registry): void {
    const count = (name: string, help: string, of: (upstream: Upstream) => number): void =>
      counterBy(registry, name, help, ['upstream'], () => this.upstreams.all.map((upstream) => [[upstream.name], of(upstream)]));
    const show = (name: string, help: string, of: (upstream: Upstream) => number): void =>
      gaugeBy(registry, name, help, ['upstream'], () => this.upstreams.all.map((upstream) => [[upstream.name], of(upstream)]));
    count('tollgate_upstream_answers_total', 'Answers of an upstream.', ({ counts }) => counts.answered);
    count('tollgate_upstream_failures_total', 'Calls of an upstream that failed.', ({ counts }) => counts.failed);
    count('tollgate_upstream_ejections_total', 'Times that an address of an upstream was ejected.', ({ counts }) => counts.ejections);
    count(
      'tollgate_upstream_connect_retries_total',
      'Requests that went to another address because no connection could be opened.',
      ({ counts }) => counts.connectRetries,
    );
    show('tollgate_upstream_requests_in_flight', 'Requests that hold a connection to an upstream.', ({ slots }) => slots.used);
    show('tollgate_upstream_requests_waiting', 'Requests that wait for a connection to an upstream.', ({ slots }) => slots.waiting);
    gaugeBy(registry, 'tollgate_upstream_addresses', 'Addresses of an upstream by their state.', ['upstream', 'state'], () =>
      this.upstreams.all.flatMap(({ name, addresses }) =>
        ADDRESS_STATES.map((state) => [[name, state], addresses.filter(({ health }) => health.state === state).length] as const),
      ),
    );
  }

  private *outcomes(): Iterable<readonly [string[], number]> {
    for (const [i, count] of this.requests.entries()) {
      if (count === 0) continue;
      yield [[OUTCOMES[Math.trunc(i / STATUS_CLASSES.length)]!, STATUS_CLASSES[i % STATUS_CLASSES.length]!], count];
    }
  }
}

function oneLabel(counts: ReadonlyMap<string, number>): (readonly [string[], number])[] {
  return [...counts].map(([value, count]) => [[value], count]);
}
