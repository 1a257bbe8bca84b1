import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDemoApi } from '../../../apps/cli/src/demo/api.js';
import { bringLocust, LOCUST_FILES } from '../../../apps/cli/src/load/locust.js';
import { ROOT } from '../../../scripts/paths.mjs';
import { freePort } from '../../../scripts/ports.mjs';
import { findProgram } from '../../../scripts/processes.mjs';
import { ADMIN_TOKEN, startApp, type RunningApp } from '../../support/processes.js';
import { freshDatabase, freshRedis, type TestDatabase, type TestRedis } from '../../support/services.js';

/** A run of the tests does not wait longer for a slow registry; `npm run load` does. */
const INSTALL_WITHIN_MS = 45_000;
const PATIENTLY = { readyWithinMs: 40_000 };

interface Report {
  ok: boolean;
  users: number;
  problems: string[];
  merchants: {
    merchant: string;
    sent: number;
    passed: number;
    refused: number;
    failed: number;
    bounds: { kept: boolean; capacity: number }[];
    smoothing?: { withinSeconds: number; mostSent: number; mostAnswered: number };
  }[];
}

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

const notice = await bringLocust({ withinMs: INSTALL_WITHIN_MS }).then(
  () => '',
  (error: Error) => `NO LOCUST: the load profiles are not tested. ${error.message}\nnpm run load -- burst installs it without a hurry.`,
);
if (notice) process.stderr.write(`\n${notice}\n\n`);
const withLocust = notice ? describe.skip : describe;

const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-load-'));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

function run(program: string, args: string[], env: Record<string, string>): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: ROOT, env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env } }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** `npm run load`, as a pipe sees it. */
const load = (args: string[], env: Record<string, string> = { TOLLGATE_ADMIN_TOKEN: ADMIN_TOKEN }) =>
  run(process.execPath, [join(ROOT, 'scripts', 'tollgate.mjs'), 'load', ...args], { TOLLGATE_DATA_DIR: dataDir, ...env });

const reportOf = (profile: string) => JSON.parse(readFileSync(join(dataDir, 'load', `${profile}.json`), 'utf8')) as Report;

withLocust('npm run load', () => {
  let database: TestDatabase;
  let redis: TestRedis;
  let demo: Server;
  let demoUrl: string;
  let rulesApi: RunningApp | undefined;
  let gateway: RunningApp | undefined;

  beforeAll(async () => {
    [database, redis] = await Promise.all([freshDatabase({ migrated: true }), freshRedis()]);
    demo = createDemoApi();
    await new Promise<void>((resolve) => demo.listen(0, '127.0.0.1', resolve));
    demoUrl = `http://127.0.0.1:${(demo.address() as AddressInfo).port}`;
    rulesApi = await startApp('rules-api', { DATABASE_URL: database.url }, PATIENTLY);
    gateway = await startApp('gateway', { DATABASE_URL: database.url, REDIS_URL: redis.url, UPSTREAM_URL: demoUrl }, PATIENTLY);
    // They refill so slowly that a burst is refused however slow the machine is.
    await merchant('acme', { capacity: 20, refillTokens: 1 });
    await merchant('globex', { capacity: 40, refillTokens: 2 });
  });

  afterAll(async () => {
    await Promise.all([gateway?.stop(), rulesApi?.stop()]);
    demo.closeAllConnections();
    demo.close();
    await Promise.all([redis.stop(), database.drop()]);
  });

  async function merchant(id: string, numbers: { capacity: number; refillTokens: number }): Promise<void> {
    const rule = {
      name: 'transactions',
      match: { methods: [], paths: ['/transactions/**'] },
      limits: [{ name: 'burst', algorithm: 'token_bucket', refillIntervalMs: 1000, ...numbers }],
      // A store that stalls on a busy machine must not widen the bound that is tested here.
      onStoreFailure: 'closed',
    };
    for (const [path, body] of [
      ['', { id, name: id, timeZone: 'Etc/UTC' }],
      [`/${id}/rules`, rule],
    ] as const) {
      const { status } = await fetch(`${rulesApi?.url}/v1/merchants${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(status).toBe(201);
    }
  }

  const options = (gatewayUrl = gateway?.url ?? '') => [
    '--gateway',
    gatewayUrl,
    '--rules-api',
    rulesApi?.url ?? '',
    '--seconds',
    '3',
    '--users',
    '8',
  ];

  test('burst: refuses what is over, and every merchant stays within its bound', async () => {
    const { code, stdout, stderr } = await load(['burst', ...options()]);
    const report = reportOf('burst');
    // A store that stalls is no matter of this test; any other failure is.
    expect(report.problems.filter((problem) => !problem.includes('rate limiter cannot be asked'))).toEqual([]);
    expect({ code, ok: report.ok }).toEqual(report.problems.length === 0 ? { code: 0, ok: true } : { code: 1, ok: false });
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^merchant +sent +passed +refused +failed +p50 +p95 +p99 ms +within capacity \+ rate \* time$/m);
    for (const { merchant: id, sent, passed, refused, failed, bounds } of report.merchants) {
      expect(stdout).toMatch(new RegExp(`^${id} .* yes: ${passed} of at most [\\d.]+ in [\\d.]+ s \\(transactions, burst: `, 'm'));
      expect(bounds).toMatchObject([{ kept: true }]);
      expect(passed + refused + failed).toBe(sent);
      expect(sent).toBeGreaterThan(bounds[0]?.capacity ?? Infinity);
      expect(refused).toBeGreaterThan(0);
    }
    expect(report.merchants.map(({ merchant: id }) => id)).toEqual(['acme', 'globex']);
  });

  test('says NO, and fails, where nothing is limited', async () => {
    const { code, stdout } = await load(['burst', ...options(demoUrl)]);
    expect(stdout).toMatch(/^acme .* NO: \d+ of at most [\d.]+ in [\d.]+ s/m);
    expect(code).toBe(1);
    expect(reportOf('burst')).toMatchObject({ ok: false, users: 8, merchants: [{ refused: 0, bounds: [{ kept: false }] }, {}] });
  });

  test('smooth: makes a merchant with a queue, sends all at once, and shows how evenly they leave it', async () => {
    const { code, stdout, stderr } = await load(['smooth', ...options()]);
    expect(stdout).toContain('Created the merchant smooth');
    const { merchants } = reportOf('smooth');
    const [{ merchant: id, passed, failed, smoothing }] = merchants as [Report['merchants'][0]];
    expect({ code, stderr, id, failed }).toEqual({ code: 0, stderr: '', id: 'smooth', failed: 0 });
    expect(passed).toBeGreaterThan(0);
    // Ten a second, counted in the time of four of them; answers may bunch up on a busy machine.
    expect(smoothing!.withinSeconds).toBe(0.4);
    expect(smoothing!.mostAnswered).toBeLessThan(smoothing!.mostSent);
    expect(stdout).toMatch(/^ {2}sent {5}at most +\d+ {2}[ ▁▂▃▄▅▆▇█]{60}$/m);
    expect((await load(['smooth', ...options(), '--seconds', '1'])).stdout).not.toContain('Created');
  });

  test('smooth: says who has no queue', async () => {
    const { code, stderr } = await load(['smooth', ...options(), '--merchants', 'smooth,acme']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('No queue smooths the requests of acme: their rules need a leaky_bucket with onLimit'),
    });
  });

  test('a merchant that is not there', async () => {
    const { code, stderr } = await load(['steady', ...options(), '--merchants', 'initech']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("There is no merchant 'initech'") });
  });

  test('a token that is not the one', async () => {
    const { code, stderr } = await load(['steady', ...options(), '--token', 'some-other-token-of-nobody']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('does not know this admin token') });
    expect(stderr).not.toContain('some-other-token');
  });
});

describe('npm run load says plainly', () => {
  const rows: [what: string, args: string[], says: string][] = [
    ['which profiles there are', [], 'Give one profile: steady, burst, hot-merchant, smooth'],
    ['that it knows no such profile', ['storm'], 'got storm'],
    ['that it knows no such option', ['burst', '--fast'], "Unknown option '--fast'"],
    ['how long it may take', ['burst', '--seconds', '601'], '--seconds must be a whole number from 1 to 600; got 601'],
    ['how many users it may have', ['burst', '--users', '1e3'], '--users must be a whole number from 1 to 1000; got 1e3'],
    ['that each merchant needs a user', ['burst', '--users', '1'], '--users must be at least 2'],
    ['that load is for this machine', ['burst', '--gateway', 'http://api.example.com'], '--gateway must be on this machine'],
    ['that the token is for this machine', ['burst', '--rules-api', 'http://127.0.0.1.example.com'], '--rules-api must be on this machine'],
    ['what an address is', ['burst', '--gateway', 'localhost:8080'], '--gateway must be an address such as'],
  ];
  test.each(rows)('%s', async (_what, args, says) => {
    expect(await load(args)).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(says) });
  });

  test('that no gateway is there, and how to start one', async () => {
    const { code, stderr } = await load(['burst', '--gateway', `http://127.0.0.1:${await freePort()}`]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^The gateway at http:\/\/127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)\.\nStart Tollgate with npm start/);
  });

  test('that it has no token', async () => {
    expect(await load(['burst'], {})).toMatchObject({ code: 2, stderr: expect.stringContaining('There is no admin token') });
  });

  test('what it can do, and nothing else: npm must not take the command preload for a step before load', async () => {
    const { code, stdout } = await run('npm', ['run', 'load', '--', '--help'], {});
    expect({ code, commands: stdout.match(/^> node .*$/gm) }).toEqual({ code: 0, commands: ['> node scripts/tollgate.mjs load --help'] });
    expect(stdout).toContain('hot-merchant');
  });
});

/** Those modules of the profiles that do not need Locust. */
const python = findProgram(['python3']);
(python ? test : test.skip)('the arithmetic, the rules and the paces of the profiles', async () => {
  const { code, stderr } = await run(python as string, ['-B', '-m', 'unittest', 'discover', '-s', LOCUST_FILES], {});
  expect(stderr).toMatch(/^Ran \d{2,} tests/m);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('OK') });
});
