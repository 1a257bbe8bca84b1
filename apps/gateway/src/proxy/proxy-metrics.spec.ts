import { Registry } from 'prom-client';
import { Outcome, ProxyMetrics } from './proxy-metrics.js';

it('hands out what was counted', async () => {
  const registry = new Registry();
  const metrics = new ProxyMetrics();
  metrics.register(registry);
  metrics.inFlight = 3;
  metrics.ended(Outcome.Forwarded, 200, 0.4);
  metrics.ended(Outcome.Forwarded, 201, 30);
  metrics.ended(Outcome.Refused, 429, 0.5);
  metrics.ended(Outcome.ClientClosed, 0, 60_000);
  metrics.upstreamFailed('reset');
  expect(metrics.count(Outcome.Forwarded)).toBe(2);

  const text = await registry.metrics();
  for (const line of [
    'tollgate_requests_total{outcome="forwarded",status_class="2xx"} 2',
    'tollgate_requests_total{outcome="refused",status_class="4xx"} 1',
    'tollgate_requests_total{outcome="client_closed",status_class="none"} 1',
    'tollgate_upstream_errors_total{kind="reset"} 1',
    'tollgate_upstream_errors_total{kind="connect"} 0',
    'tollgate_requests_in_flight 3',
    '# TYPE tollgate_request_duration_seconds histogram',
    'tollgate_request_duration_seconds_bucket{le="0.0005"} 2',
    'tollgate_request_duration_seconds_bucket{le="0.025"} 2',
    'tollgate_request_duration_seconds_bucket{le="0.05"} 3',
    'tollgate_request_duration_seconds_bucket{le="30"} 3',
    'tollgate_request_duration_seconds_bucket{le="+Inf"} 4',
    'tollgate_request_duration_seconds_count 4',
    'tollgate_request_duration_seconds_sum 60.0309',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
  expect(text).toBe(await registry.metrics());
});
