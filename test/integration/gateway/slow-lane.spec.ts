/** What the proxy promises, without the fast lane. Every spec of the proxy runs so with GATEWAY_FAST_LANE=off; these ones do it in every run. */
process.env.GATEWAY_FAST_LANE = 'off';

await import('./proxy-forwarding.spec.js');
await import('./proxy-bodies.spec.js');
await import('./proxy-pipelining.spec.js');
