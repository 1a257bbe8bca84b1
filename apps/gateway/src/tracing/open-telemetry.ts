import type { Logger } from '#platform';
import { withDeadline } from '#waiting';
import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type TextMapGetter,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import { isTraceContext, type RequestTrace, type RequestTracer } from '../proxy/index.js';
import { CollectorLog } from './collector-log.js';
import { BoundedProcessor, CountingExporter, SpanCounts } from './counted-spans.js';

/** Spans that wait for the collector; more are dropped. About a kilobyte each. */
const MOST_WAITING = 4096;
const MOST_AT_ONCE = 512;
const EXPORT_EVERY_MS = 1000;
/** Until the collector has taken a batch, attempts included. */
const EXPORT_DEADLINE_MS = 5000;
/** The last batches of a gateway that stops. */
const LAST_DEADLINE_MS = 1000;

const MOST_PATH_CHARACTERS = 512;
/** Of TRACESTATE and TRACEPARENT together, in a request: what is longer is ignored without a look at it. */
const MOST_CONTEXT_CHARACTERS = 1024;

export interface TracingOptions {
  readonly collector: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Part of the requests that are traced, unless a trusted proxy has decided. */
  readonly ratio: number;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
}

/** Sends spans of requests to a collector. Requests never wait for it: spans that it does not take in time are dropped. */
export class Tracing implements RequestTracer {
  readonly counts = new SpanCounts();
  private readonly provider: TracerProvider;
  private readonly tracer: Tracer;

  constructor({ collector, headers, ratio, logger }: TracingOptions) {
    const base = collector.href.endsWith('/') ? collector.href : `${collector.href}/`;
    const exporter = new OTLPTraceExporter({
      url: new URL('v1/traces', base).href,
      headers: { ...headers },
      timeoutMillis: EXPORT_DEADLINE_MS,
      concurrencyLimit: 4,
    });
    const batches = new BatchSpanProcessor({
      exporter: new CountingExporter(exporter, this.counts, new CollectorLog(logger, collector.origin)),
      maxQueueSize: MOST_WAITING,
      maxExportBatchSize: MOST_AT_ONCE,
      scheduledDelayMillis: EXPORT_EVERY_MS,
      exportTimeoutMillis: EXPORT_DEADLINE_MS + 500,
    });
    this.provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': 'tollgate-gateway' }),
      sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
      spanProcessors: [new BoundedProcessor(batches, this.counts, MOST_WAITING)],
      spanLimits: { attributeValueLengthLimit: MOST_PATH_CHARACTERS },
    });
    this.tracer = this.provider.getTracer('tollgate');
  }

  begin(rawHeaders: readonly string[], trusted: boolean): RequestTrace {
    const parent = contextOf(rawHeaders);
    const remote = trace.getSpanContext(parent);
    const options: SpanOptions = { kind: SpanKind.SERVER, startTime: performance.now() };
    // Whoever is not trusted could have every request traced, or none: its trace is linked, and not continued.
    const isForeign = !trusted && remote !== undefined;
    const span = isForeign
      ? this.tracer.startSpan('request', { ...options, root: true, links: [{ context: remote }] }, ROOT_CONTEXT)
      : this.tracer.startSpan('request', options, parent);
    return new SpansOfRequest(this.tracer, span, trace.setSpan(ROOT_CONTEXT, span));
  }

  /** Sends what waits, within a second. Never rejects. */
  async stop(): Promise<void> {
    await withDeadline(this.provider.shutdown(), LAST_DEADLINE_MS).catch(() => {});
  }
}

class SpansOfRequest implements RequestTrace {
  private readonly kept: boolean;
  private checkedFrom = 0;
  private rulesFrom = 0;
  private upstream: Span | undefined;

  constructor(
    private readonly tracer: Tracer,
    private readonly span: Span,
    private readonly context: Context,
  ) {
    this.kept = span.isRecording();
  }

  get keptTraceId(): string | undefined {
    return this.kept ? this.span.spanContext().traceId : undefined;
  }

  checking(): void {
    this.checkedFrom = performance.now();
  }

  rulesSought(): void {
    this.rulesFrom = performance.now();
  }

  rulesFound(): void {
    if (this.kept) this.child('rules', this.rulesFrom).end(performance.now());
    this.checkedFrom = performance.now();
  }

  checked(reason: string, source: string): void {
    if (!this.kept) return;
    const take = this.child('take', this.checkedFrom);
    take.setAttributes({ 'tollgate.reason': reason, 'tollgate.source': source });
    take.end(performance.now());
  }

  forwarding(headers: string[]): void {
    if (this.kept) this.upstream = this.child('upstream', performance.now(), SpanKind.CLIENT);
    const context = this.upstream === undefined ? this.context : trace.setSpan(ROOT_CONTEXT, this.upstream);
    PROPAGATOR.inject(context, headers, { set: (_headers, name, value) => void (value !== '' && headers.push(name, value)) });
  }

  upstreamAnswered(status: number): void {
    this.upstream?.setAttribute('http.response.status_code', status);
  }

  ended({ method, target, requestId, merchant, outcome, status }: Parameters<RequestTrace['ended']>[0]): void {
    if (!this.kept) return;
    const endedAt = performance.now();
    if (outcome === 'upstream_error') this.upstream?.setStatus({ code: SpanStatusCode.ERROR });
    this.upstream?.end(endedAt);
    const { span } = this;
    span.setAttributes({
      'http.request.method': method,
      'url.path': target.split(/[?#]/, 1)[0]!,
      'tollgate.request_id': requestId,
      'tollgate.outcome': outcome,
    });
    if (merchant !== undefined) span.setAttribute('tollgate.merchant', merchant);
    if (status !== 0) span.setAttribute('http.response.status_code', status);
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endedAt);
  }

  private child(name: string, startTime: number, kind: SpanKind = SpanKind.INTERNAL): Span {
    return this.tracer.startSpan(name, { kind, startTime }, this.context);
  }
}

const PROPAGATOR = new W3CTraceContextPropagator();

interface FoundContext {
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
}

const GETTER: TextMapGetter<FoundContext> = {
  keys: () => ['traceparent', 'tracestate'],
  get: (found, name) => found[name as keyof FoundContext],
};

/** What a request says of its trace. Invalid, oversized or doubtful: nothing, and a new trace begins. */
function contextOf(rawHeaders: readonly string[]): Context {
  let traceparent: string | undefined;
  let tracestate: string | undefined;
  let characters = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (!isTraceContext(name)) continue;
    const value = rawHeaders[i + 1]!;
    characters += value.length;
    if (name.toLowerCase() === 'tracestate') tracestate = tracestate === undefined ? value : `${tracestate},${value}`;
    else if (traceparent !== undefined) return ROOT_CONTEXT;
    else traceparent = value;
    if (characters > MOST_CONTEXT_CHARACTERS) return ROOT_CONTEXT;
  }
  const context = PROPAGATOR.extract(ROOT_CONTEXT, { traceparent, tracestate }, GETTER);
  const remote = trace.getSpanContext(context);
  // Of the flags only one is ours to pass on: the others mean nothing to us.
  if (remote !== undefined) remote.traceFlags &= TraceFlags.SAMPLED;
  return context;
}
