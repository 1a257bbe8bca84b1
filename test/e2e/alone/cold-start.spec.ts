/**
 * Gateways under full load from their first moment, on a machine with other work. In `npm test` one short start; the long form:
 * TOLLGATE_COLD_STARTS=10 TOLLGATE_COLD_SECONDS=10 npm test -- test/e2e/alone/cold-start.spec.ts --selectProjects alone
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { burst } from '#limiter/testing';
import { Pool } from 'undici';
import { freePort } from '../../../scripts/ports.mjs';
import { Tether } from '../../../scripts/tether.mjs';
import { PATIENCE } from '../../support/patience.mjs';
import { ruleSpec } from '../../support/factories/rules.js';
import { House } from '../gateway/house.js';

const STARTS = Number(process.env['TOLLGATE_COLD_STARTS'] ?? 1);
const SECONDS = Number(process.env['TOLLGATE_COLD_SECONDS'] ?? 3);
const GATEWAYS = 3;
const CONNECTIONS = 64;
const MERCHANTS = 50;
/** The pace at which a client tries to connect while nobody listens yet. */
const CONNECT_AGAIN_MS = 5;

const tether = new Tether();
let house: House;

beforeAll(async () => {
  house = await House.open();
  // As the Rules API and the preloader leave them: a gateway may ask PostgreSQL beside a Redis that waits for a core, too.
  const limits = [burst({ capacity: 1_000_000, refillTokens: 1_000_000 })];
  const rules = [ruleSpec({ match: { methods: [], paths: [] }, limits, onStoreFailure: 'closed' })];
  await house.store(Object.fromEntries(Array.from({ length: MERCHANTS }, (_, i) => [`m${i}`, rules])));
});

afterAll(() => house.close());

/** One for each core, so that everybody has to wait for its turn. */
function otherWork(): () => void {
  const loops = Array.from({ length: availableParallelism() }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
  for (const loop of loops) tether.tie(loop, 'KILL');
  return () => loops.forEach((loop) => loop.kill('SIGKILL'));
}

/** Answers by status, and what those that are not 200 said. */
interface Outcome {
  counts: Record<string, number>;
  said: Set<string>;
  /** The slowest answer of the first second, and of all. */
  slowestMs: [number, number];
}

/** Sends from all connections without a pause, from the first that is accepted, and counts the answers by status. */
async function load(url: string, { counts, said, slowestMs }: Outcome): Promise<void> {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  let begin = Infinity;
  let sent = 0;
  const connection = async (): Promise<void> => {
    while (performance.now() < begin + SECONDS * 1000) {
      const sentMs = performance.now();
      const status = await pool
        .request({ method: 'GET', path: '/transactions', headers: { 'x-merchant-id': `m${sent++ % MERCHANTS}` } })
        .then(
          async ({ statusCode, body }) => {
            const text = await body.text();
            if (statusCode !== 200) said.add(text.replace(/"requestId":"[^"]*"/, ''));
            return String(statusCode);
          },
          (error: Error & { code?: string }) => error.code ?? error.message,
        );
      if (status === 'ECONNREFUSED' && begin === Infinity) {
        await pause(CONNECT_AGAIN_MS);
        continue;
      }
      begin = Math.min(begin, sentMs);
      counts[status] = (counts[status] ?? 0) + 1;
      const tookMs = performance.now() - sentMs;
      slowestMs[1] = Math.max(slowestMs[1], tookMs);
      if (sentMs < begin + 1000) slowestMs[0] = Math.max(slowestMs[0], tookMs);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  await pool.destroy();
}

/** Milliseconds for one start: the processes begin slowly on a busy machine. */
const START_WITHIN_MS = 60_000;

test(
  'gateways that are loaded from their first moment, on a busy machine, refuse nothing while Redis is well',
  async () => {
    const outcomes: Outcome[] = [];
    for (let start = 0; start < STARTS; start++) {
      const outcome: Outcome = { counts: {}, said: new Set(), slowestMs: [0, 0] };
      outcomes.push(outcome);
      const endOtherWork = otherWork();
      try {
        const ports = await Promise.all(Array.from({ length: GATEWAYS }, () => freePort()));
        const loads = ports.map((port) => load(`http://127.0.0.1:${port}`, outcome));
        const gateways = await Promise.all(ports.map((port) => house.gateway({ GATEWAY_PORT: String(port) })));
        await Promise.all(loads);
        await Promise.all(gateways.map((gateway) => gateway.kill()));
      } finally {
        endOtherWork();
      }
      house.received.length = 0;
      if (STARTS > 1) console.log(`start ${start + 1}`, outcome);
    }
    for (const { counts, said } of outcomes) expect({ counts, said: [...said] }).toEqual({ counts: { 200: expect.any(Number) }, said: [] });
  },
  STARTS * (START_WITHIN_MS + SECONDS * 1000) * PATIENCE,
);
