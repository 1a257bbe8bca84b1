/** SIGTERM in the middle of traffic: what clients of a gateway that is being replaced see. */
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { PATIENCE } from '../../support/patience.mjs';
import type { RunningApp } from '../../support/processes.js';
import { until } from '../../support/until.js';
import { rule } from '../../support/factories/rules.js';
import { House } from './house.js';

let house: House;

beforeAll(async () => {
  house = await House.open();
  await house.write('acme', [rule({ capacity: 1_000_000, refillTokens: 1_000_000, onStoreFailure: 'open' })]);
});
afterAll(() => house.close());

/** What a load balancer knows of a gateway. */
async function isReady({ managementUrl }: RunningApp): Promise<boolean> {
  return fetch(`${managementUrl}/readyz`).then(
    (response) => response.ok,
    () => false,
  );
}

/** Clients that each keep a connection and ask again and again, with small and with longer pauses. */
class BusyClients {
  answered = 0;
  readonly lost: string[] = [];
  private running = true;
  private readonly done: Promise<void>[];

  constructor(
    count: number,
    private readonly target: () => RunningApp,
    private readonly fallback: RunningApp,
  ) {
    this.done = Array.from({ length: count }, (_, i) => this.run(i));
  }

  async stop(): Promise<void> {
    this.running = false;
    await Promise.all(this.done);
  }

  private async run(i: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (this.running) {
      try {
        await this.ask(this.target(), agent);
      } catch (error) {
        // Nothing was sent: every client and balancer turns to the next gateway then.
        if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED')
          await this.ask(this.fallback, agent).catch((again: Error) => this.lost.push(String(again)));
        else this.lost.push(String(error));
      }
      await pause((i * 17) % 120);
    }
    agent.destroy();
  }

  private ask({ ports }: RunningApp, agent: Agent): Promise<void> {
    return new Promise((resolve, reject) => {
      const headers = { 'x-merchant-id': 'acme', 'content-length': 2 };
      const request = httpRequest(
        { host: '127.0.0.1', port: ports.main, path: '/transactions', method: 'POST', agent, headers },
        (response) => {
          response.resume().on('end', () => {
            if (response.statusCode === 200) this.answered++;
            else this.lost.push(`status ${response.statusCode}`);
            resolve();
          });
          response.on('error', reject);
        },
      );
      request.on('error', reject);
      request.end('{}');
    });
  }
}

describe.each([
  ['with a delay', { DRAIN_DELAY_MS: '1500' }],
  ['without a delay', { DRAIN_DELAY_MS: '0' }],
])('a gateway that gets SIGTERM %s', (_case, env) => {
  it('loses no request of clients with busy connections, and ends with 0', async () => {
    const [old, next] = await Promise.all([
      house.gateway({ ...env, STORE_TIMEOUT_MS: '5000' }),
      house.gateway({ STORE_TIMEOUT_MS: '5000' }),
    ]);
    let balanced = old;
    const balancer = setInterval(() => void isReady(old).then((ready) => (balanced = ready ? balanced : next)), 100);
    const clients = new BusyClients(20, () => balanced, next);
    await until(() => clients.answered > 100);
    old.signal('SIGTERM');
    expect(await old.exited).toBe(0);
    const answeredBefore = clients.answered;
    await until(() => clients.answered > answeredBefore);
    clearInterval(balancer);
    await clients.stop();
    expect(clients.lost).toEqual([]);
  });
});

it('while a gateway drains it is unready, is alive, and serves on new connections and on old ones, which then close', async () => {
  const drainMs = 1_500 * PATIENCE;
  const gateway = await house.gateway({
    DRAIN_DELAY_MS: String(drainMs),
    SHUTDOWN_GRACE_MS: String(3 * drainMs),
    STORE_TIMEOUT_MS: '5000',
  });
  expect((await house.send(gateway, 'acme')).headers['connection']).toBe('keep-alive');
  gateway.signal('SIGTERM');
  await gateway.waitForLog(({ msg }) => msg === 'draining: unready, and still serving');
  for (let i = 0; i < 3; i++) {
    expect(await isReady(gateway)).toBe(false);
    expect((await fetch(`${gateway.managementUrl}/readyz`)).status).toBe(503);
    expect((await fetch(`${gateway.managementUrl}/healthz`)).status).toBe(200);
    const { status, headers } = await house.send(gateway, 'acme');
    expect([status, headers['connection']]).toEqual([200, 'close']);
  }
  expect(await gateway.exited).toBe(0);
});

it('a delay that is too long for the grace ends at half of it, and the gateway within it', async () => {
  const gateway = await house.gateway({ DRAIN_DELAY_MS: '60000', SHUTDOWN_GRACE_MS: '4000' });
  gateway.signal('SIGTERM');
  const { delayMs } = (await gateway.waitForLog(({ msg }) => msg === 'draining: unready, and still serving')) as { delayMs?: number };
  expect(delayMs).toBe(2_000);
  expect(await gateway.exited).toBe(0);
});
