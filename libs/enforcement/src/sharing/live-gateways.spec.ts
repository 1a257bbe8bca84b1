import { Registry } from 'prom-client';
import { LiveGateways } from './live-gateways.js';

test('the number of gateways is the configured one until others were heard of', () => {
  expect(new LiveGateways(4).count).toBe(4);
});

test('a gateway that joins counts at once, and one that leaves until three counts later', () => {
  const gateways = new LiveGateways(9);
  const counts = [1, 2, 2, 8, 7, 7, 7, 1, 7].map((count) => {
    gateways.heard(count);
    return gateways.count;
  });
  // The last but one is a Redis that has just come back empty.
  expect(counts).toEqual([1, 2, 2, 8, 8, 8, 7, 7, 7]);
});

test('the number of live gateways is shown in a metric', async () => {
  const registry = new Registry();
  const gateways = new LiveGateways(1);
  gateways.register(registry);
  gateways.heard(3);
  expect(await registry.getSingleMetricAsString('tollgate_live_gateways')).toContain('tollgate_live_gateways 3');
});
