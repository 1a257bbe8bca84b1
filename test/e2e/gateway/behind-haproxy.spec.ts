/** The HAProxy of docs/scaling.md, a real one, in front of two gateways that are upgraded one after the other: no client notices. Skipped, loudly, where there is no HAProxy. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { ROOT } from '../../../scripts/paths.mjs';
import { freePort } from '../../../scripts/ports.mjs';
import { obtainProxies } from '../../../scripts/services/fetch-proxies.mjs';
import { type ServerProcess, startServer } from '../../../scripts/services/server.mjs';
import { Tether } from '../../../scripts/tether.mjs';
import { PATIENCE } from '../../support/patience.mjs';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { rule } from '../../support/factories/rules.js';
import { House } from './house.js';

const CLIENTS = 8;
const found = (await obtainProxies(['haproxy'])).get('haproxy')!;
if ('missing' in found) console.warn(`NOT TESTED: HAProxy of docs/scaling.md, because ${found.missing}`);

let house: House;
let folder: string;
let balancer: ServerProcess | undefined;
let gateways: RunningApp[];
let address: string;

beforeAll(async () => {
  if ('missing' in found) return;
  house = await House.open();
  await house.write('acme', [rule({ capacity: 1_000_000, refillTokens: 1_000_000, onStoreFailure: 'open' })]);
  gateways = await Promise.all([gateway(), gateway()]);
  folder = mkdtempSync(join(tmpdir(), 'tollgate-balancer-'));
  const port = await freePort();
  writeFileSync(join(folder, 'haproxy.cfg'), configuration(port));
  balancer = startServer({
    program: found.program,
    args: ['-db', '-f', 'haproxy.cfg'],
    surroundings: { cwd: folder, env: { ...process.env, ...found.env } },
    tether: new Tether(),
    signals: ['SIGTERM', 'SIGKILL'],
    patienceMs: 5_000,
  });
  address = `http://127.0.0.1:${port}`;
  await until('HAProxy serves', async () => (await fetch(`${address}/transactions`, { method: 'POST' })).status === 200);
});
afterAll(async () => {
  if ('missing' in found) return;
  await balancer?.stop();
  await house.close();
  rmSync(folder, { recursive: true, force: true });
});

const gateway = (ports: Partial<RunningApp['ports']> = {}): Promise<RunningApp> =>
  house.gateway({
    // Two looks of the balancer, and some more on a busy machine.
    DRAIN_DELAY_MS: String(2_000 * PATIENCE),
    SHUTDOWN_GRACE_MS: String(8_000 * PATIENCE),
    STORE_TIMEOUT_MS: '2000',
    ...(ports.main !== undefined && { GATEWAY_PORT: String(ports.main), GATEWAY_MANAGEMENT_PORT: String(ports.management) }),
  });

/** What the page says, with our addresses, and what each configuration of HAProxy has besides. This balancer knows merchants by itself. */
function configuration(port: number): string {
  const [, backend = ''] = /With HAProxy:\s+```\n(.*?)```/s.exec(readFileSync(join(ROOT, 'docs', 'scaling.md'), 'utf8')) ?? [];
  const ours = gateways.reduce(
    (text, { ports }, i) =>
      text.replace(new RegExp(`10\\.0\\.0\\.1${i + 1}:8080 check port 8081`), `127.0.0.1:${ports.main} check port ${ports.management}`),
    backend,
  );
  expect(ours).toContain('http-request del-header X-Merchant-Id');
  expect(ours).not.toContain('10.0.0');
  return `
global
  maxconn 100
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
frontend clients
  bind 127.0.0.1:${port}
  default_backend tollgate
${ours}
  http-request set-header X-Merchant-Id acme
`;
}

/** What a client sees: the status alone if all is well. */
async function outcomeOf(pool: Pool): Promise<string> {
  const headers = { 'X-Merchant-Id': 'somebody-else' };
  const { statusCode, body } = await pool.request({ method: 'POST', path: '/transactions', body: '{}', headers });
  const text = await body.text();
  return statusCode === 200 ? '200' : `${statusCode} ${text}`;
}

const decided = (app: RunningApp) => house.metric(app, /^tollgate_decisions_total/);

('missing' in found ? test.skip : test)('two gateways are upgraded one after the other without a lost request', async () => {
  const upgraded = new AbortController();
  const pool = new Pool(address, { connections: CLIENTS, pipelining: 1 });
  const seen = new Map<string, number>();
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!upgraded.signal.aborted) {
      const outcome = await outcomeOf(pool).catch(String);
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
    }
  });
  try {
    for (const former of gateways) {
      await until(async () => expect(await decided(former)).toBeGreaterThan(0), 20_000);
      expect(await former.stop()).toBe(0);
      const successor = await gateway(former.ports);
      await until('the balancer sends requests to the new gateway', async () => (await decided(successor)) > 0, 20_000);
    }
  } finally {
    upgraded.abort();
    await Promise.all(clients);
    await pool.destroy();
  }
  expect([...seen.keys()]).toEqual(['200']);
});
