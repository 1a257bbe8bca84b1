import { Registry } from 'prom-client';
import { Histogram } from './histogram.js';

test('a histogram shows cumulative buckets, sum and count of each value of its label, in the unit of the metric', async () => {
  const registry = new Registry();
  const label = { name: 'phase', values: ['connect', 'whole'] };
  const histogram = new Histogram({ name: 'took_seconds', help: 'h', bounds: [0.001, 1], perUnit: 1000, label });
  histogram.register(registry);
  for (const ms of [0.4, 1, 700]) histogram.observe(ms);
  histogram.observe(2000, 1);
  const text = await registry.metrics();
  for (const line of [
    '# TYPE took_seconds histogram',
    'took_seconds_bucket{phase="connect",le="0.001"} 2',
    'took_seconds_bucket{phase="connect",le="1"} 3',
    'took_seconds_bucket{phase="connect",le="+Inf"} 3',
    'took_seconds_sum{phase="connect"} 0.7014',
    'took_seconds_bucket{phase="whole",le="1"} 0',
    'took_seconds_bucket{phase="whole",le="+Inf"} 1',
    'took_seconds_count{phase="whole"} 1',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
});
