/** What the proxy promises, on the fast lane. Every spec of the proxy runs there with GATEWAY_FAST_LANE=on; these ones do it in every run. */
process.env.GATEWAY_FAST_LANE = 'on';

await import('./proxy-forwarding.spec.js');
await import('./proxy-bodies.spec.js');
await import('./proxy-pipelining.spec.js');
