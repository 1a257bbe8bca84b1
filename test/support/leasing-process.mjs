/**
 * A process that leases from a bucket until it is killed: node leasing-process.mjs '{"redisUrl":"redis://...","rule":{...},"requests":200}'.
 * It prints how many of its requests passed and what it holds.
 */
import { Enforcer } from '#enforcement';
import { Registry } from 'prom-client';

const { redisUrl, rule, requests } = JSON.parse(process.argv[2] ?? '');
const registry = new Registry();
const enforcer = new Enforcer({
  redisUrl,
  storedRules: false,
  logger: { info: () => {}, warn: () => {} },
  registry,
  storeTimeoutMs: 2000,
  leaseHorizonMs: 2000,
});
enforcer.rulesHere([rule]);
await enforcer.open();
let passed = 0;
for (let i = 0; i < requests; i++) {
  const { allowed } = await new Promise((resolve) =>
    enforcer.check({ merchantId: 'acme', ip: '192.0.2.7', method: 'GET', target: '/' }, resolve),
  );
  if (allowed) passed++;
}
const held = Number(/^tollgate_lease_held_tokens (\d+)/m.exec(await registry.metrics())?.[1]);
console.log(JSON.stringify({ passed, held }));
// Until it is killed.
setInterval(() => {}, 1000);
