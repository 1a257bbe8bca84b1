import { ConfigError, loadConfig } from './config.js';

const GATEWAY = { DATABASE_URL: 'postgres://u:p@db/t', REDIS_URL: 'redis://r', UPSTREAM_URL: 'http://127.0.0.1:9090' };

const loaded = (variables: Record<string, string>) => loadConfig('gateway', { ...GATEWAY, ...variables });

test('without variables nothing is traced, no request has a line of its own, and no rule is counted by itself', () => {
  expect(loaded({})).toMatchObject({ traceCollector: undefined, traceCollectorHeaders: {}, accessLog: false, metricRules: [] });
});

test('what OpenTelemetry knows by these names is read as it writes it', () => {
  const config = loaded({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp',
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic%20dXNlcjpwYXNz,x-tenant=a',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
  });
  expect(config.traceCollector?.href).toBe('https://collector.example/otlp');
  expect(config.traceCollectorHeaders).toEqual({ authorization: 'Basic dXNlcjpwYXNz', 'x-tenant': 'a' });
  expect(config.traceRatio).toBe(0.25);
});

test.each([
  ['METRIC_RULES', '1,,2'],
  ['METRIC_RULES', '7,7'],
  ['METRIC_RULES', 'burst'],
  ['METRIC_RULES', Array.from({ length: 201 }, (_, i) => i + 1).join(',')],
  ['REFUSAL_LINES_PER_SECOND', '1001'],
  ['ACCESS_LOG', 'yes'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:secret@collector:4318'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%0d%0ax: y'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%zz'],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
  ['OTEL_TRACES_SAMPLER_ARG', '1e-3'],
  ['OTEL_TRACES_SAMPLER_ARG', '-0'],
])('%s=%s is refused when the gateway starts', (name, text) => {
  const load = () => loaded({ [name]: text });
  expect(load).toThrow(ConfigError);
  expect(load).toThrow(name);
});
