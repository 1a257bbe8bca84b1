import { counterBy } from '#metrics';
import type { Registry } from 'prom-client';
import type { Tracing } from './open-telemetry.js';

/** Registered without traces too, so that dashboards and alerts find it. */
export function registerSpans(registry: Registry, tracing: Tracing | undefined): void {
  counterBy(registry, 'tollgate_trace_spans_total', 'Spans of traces, by what became of them.', ['outcome'], () => {
    const { exported, failed, dropped } = tracing?.counts ?? { exported: 0, failed: 0, dropped: 0 };
    return Object.entries({ exported, failed, dropped }).map(([outcome, count]) => [[outcome], count] as const);
  });
}
