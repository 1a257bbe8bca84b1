/**
 * Chooses among the rules of one merchant, and prints what a choice costs as JSON:
 * node choosing.mjs '{"rules":1000,"measureMs":2000}'
 * Each rule is for a path of its own, and requests ask for all of them in turn.
 */
import { merchantRules } from '#limiter';
import { ruleOf } from '../shared/merchants.mjs';

const { rules: count, measureMs } = JSON.parse(process.argv[2] ?? '');

/** Choices between two looks at the clock. */
const BATCH = 1000;
const REQUESTS = 2000;

const rules = Array.from({ length: count }, (_, i) => ({
  ...ruleOf(i, { endless: true }),
  name: `rule ${i}`,
  match: { methods: ['GET', 'POST'], paths: [`/shops/${i}/transactions/**`] },
}));
const merchant = merchantRules('m', rules, []);
/** Each for another path than the one before: the choice for a path that comes again is remembered. */
const requests = Array.from({ length: REQUESTS }, (_, i) => ({
  merchantId: 'm',
  ip: '192.0.2.1',
  method: 'GET',
  target: `/shops/${i % count}/transactions/tx-${i}`,
}));

let next = 0;
let chosen = 0;
function choose() {
  for (let i = 0; i < BATCH; i++) {
    const request = requests[next++ % requests.length];
    if (request && merchant.choose(request, Date.now).enforced.length > 0) chosen++;
  }
}

for (const end = performance.now() + measureMs / 2; performance.now() < end;) choose();
chosen = 0;
const cpuBefore = process.cpuUsage();
let made = 0;
for (const end = performance.now() + measureMs; performance.now() < end; made += BATCH) choose();
const { user, system } = process.cpuUsage(cpuBefore);
if (chosen !== made) throw new Error(`${made - chosen} of ${made} requests found no rule`);
console.log(JSON.stringify({ micros: (user + system) / made }));
