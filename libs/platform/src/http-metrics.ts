import { Histogram, type Registry } from 'prom-client';

export type ObserveRequest = (request: { method: string; route: string; status: number; seconds: number }) => void;

/** Counts and times the requests of a Nest app. `route` is the pattern and never the path, which bounds the number of labels. */
export function requestMetrics(registry: Registry): ObserveRequest {
  const duration = new Histogram({
    name: 'tollgate_http_request_duration_seconds',
    help: 'Time from a request to the end of its answer, by route pattern',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [registry],
  });
  return ({ method, route, status, seconds }) => duration.observe({ method, route, status: String(status) }, seconds);
}
