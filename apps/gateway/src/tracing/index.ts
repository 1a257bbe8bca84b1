import type { Config, Logger } from '#platform';
import type { Tracing } from './open-telemetry.js';

export type { Tracing } from './open-telemetry.js';
export { registerSpans } from './trace-metrics.js';

/** Nothing of OpenTelemetry is loaded unless somebody wants traces. */
export async function startTracing(
  { traceCollector, traceCollectorHeaders, traceRatio }: Pick<Config<'gateway'>, 'traceCollector' | 'traceCollectorHeaders' | 'traceRatio'>,
  logger: Logger,
): Promise<Tracing | undefined> {
  if (traceCollector === undefined) return undefined;
  const { Tracing } = await import('./open-telemetry.js');
  return new Tracing({ collector: traceCollector, headers: traceCollectorHeaders, ratio: traceRatio, logger });
}
