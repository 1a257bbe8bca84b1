import type { Context } from '@opentelemetry/api';
import { ExportResultCode } from '@opentelemetry/core';
import type { BatchSpanProcessor, ReadableSpan, Span, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { CollectorLog } from './collector-log.js';

/** What became of spans. */
export class SpanCounts {
  exported = 0;
  /** The collector did not take them in time. */
  failed = 0;
  /** Too many waited for the collector. */
  dropped = 0;
  waiting = 0;
}

type Export = SpanExporter['export'];

/** Counts what the collector takes and what it does not, and says why. */
export class CountingExporter implements SpanExporter {
  constructor(
    private readonly inner: SpanExporter,
    private readonly counts: SpanCounts,
    private readonly log: CollectorLog,
  ) {}

  export(...[spans, done]: Parameters<Export>): void {
    this.counts.waiting -= spans.length;
    this.inner.export(spans, (result) => {
      const nowMs = performance.now();
      if (result.code === ExportResultCode.SUCCESS) {
        this.counts.exported += spans.length;
        this.log.took(nowMs);
      } else {
        this.counts.failed += spans.length;
        this.log.failed(result.error ?? new Error('unknown'), nowMs);
      }
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown();
  }
}

/** Bounds how many spans wait, and counts those beyond. The processor behind it has the same bound, and tells nobody what it drops. */
export class BoundedProcessor implements SpanProcessor {
  constructor(
    private readonly inner: BatchSpanProcessor,
    private readonly counts: SpanCounts,
    private readonly mostWaiting: number,
  ) {}

  onStart(span: Span, context: Context): void {
    this.inner.onStart(span, context);
  }

  onEnd(span: ReadableSpan): void {
    if (this.counts.waiting >= this.mostWaiting) {
      this.counts.dropped++;
      return;
    }
    this.counts.waiting++;
    this.inner.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.inner.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown();
  }
}
