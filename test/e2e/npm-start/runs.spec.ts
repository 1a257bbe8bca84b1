import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../../scripts/paths.mjs';
import { until } from '../../support/until.js';
import { npmStart, ownPlace, stillRunning, type NpmStart, type Place } from '../../support/npm-start.js';

const PARTS = ['PostgreSQL', 'Redis', 'decision-api', 'demo-api', 'gateway', 'preloader', 'rules-api'];
const READY = 'one line per event';

const shell = async (command: string): Promise<string> => (await promisify(execFile)('/bin/sh', ['-c', command])).stdout;

/** The commands that it prints, without their explanations. */
const commandsIn = (output: string): string[] => [...output.matchAll(/^ {5}(curl .*)$/gm)].map(([, command = '']) => command);

const statusesIn = (text: string): Record<string, number> =>
  text
    .trim()
    .split(/\s+/)
    .reduce<Record<string, number>>((counts, status) => ({ ...counts, [status]: (counts[status] ?? 0) + 1 }), {});

describe('npm start', () => {
  let place: Place;
  let run: NpmStart;
  beforeAll(async () => {
    place = await ownPlace();
    run = npmStart(place.env);
    await run.until(READY);
  });
  afterAll(async () => {
    run.signal('SIGTERM');
    await run.exited;
    place.remove();
  });

  it('prints five commands; the first shows a request that passes, the third a refused burst', async () => {
    const [passes = '', lists = '', burst = '', edits = '', counts = '', ...more] = commandsIn(run.output());
    expect(more).toEqual([]);
    expect(await shell(passes)).toMatch(/^HTTP\/1\.1 200 [\s\S]*ratelimit:/i);
    expect(JSON.parse(await shell(lists))).toMatchObject({ items: [{ name: 'transactions' }] });
    const statuses = statusesIn(await shell(burst));
    expect(statuses['200']).toBeGreaterThanOrEqual(9);
    expect(statuses['429']).toBeGreaterThanOrEqual(1);
    expect((statuses['200'] ?? 0) + (statuses['429'] ?? 0)).toBe(20);
    expect(JSON.parse(await shell(edits))).toMatchObject({ name: 'transactions', limits: [{ capacity: 15 }] });
    expect(await shell(counts)).toContain('outcome="refused"');
  });

  it('tells of an edit and of refusals, one line each', async () => {
    await run.until('PUT /v1/merchants', 5_000);
    await run.until('refused', 10_000);
  });

  it('is found by npm run preload, which carries both demo merchants', async () => {
    const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'preload'], {
      cwd: ROOT,
      env: { ...process.env, ...place.env },
    });
    expect(stdout).toContain('Done: 2 merchants preloaded.');
  });

  it('runs once in a directory: the second says so', async () => {
    const second = npmStart(place.env);
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain(`already running here, as process ${run.pid}`);
  });

  it('starts again after kill -9 with what it knew, and leaves nothing behind after Ctrl-C', async () => {
    const before = run.children();
    expect(stillRunning(before)).toEqual(before);
    run.signal('SIGKILL');
    await run.exited;
    run = npmStart(place.env);
    await run.until(READY);
    expect(stillRunning(before)).toEqual([]);
    const [, lists = ''] = commandsIn(run.output());
    expect(JSON.parse(await shell(lists))).toMatchObject({ items: [{ limits: [{ capacity: 15 }] }] });

    const children = run.children();
    expect(children.map(({ name }) => name.replace('js-redis-server', 'Redis')).sort()).toEqual(PARTS);
    run.signal('SIGINT');
    expect(await run.exited).toBe(0);
    expect(stillRunning(children)).toEqual([]);
    expect(run.output()).toMatch(/Stopped\.\n$/);
  });

  it('ends as a whole when a part of it ends, says which, and shows its last words', async () => {
    const tokenBefore = readFileSync(join(place.directory, 'admin-token'), 'utf8');
    run = npmStart(place.env, ['--fresh']);
    await until('everything is started', () => run.children().length === PARTS.length, 60_000);
    expect(readFileSync(join(place.directory, 'admin-token'), 'utf8')).not.toBe(tokenBefore);
    const children = run.children();
    process.kill(children.find(({ name }) => name === 'preloader')?.pid ?? 0, 'SIGKILL');
    expect(await run.exited).toBe(1);
    expect(run.output()).toContain('preloader ended by itself');
    expect(stillRunning(children)).toEqual([]);
  });
});
