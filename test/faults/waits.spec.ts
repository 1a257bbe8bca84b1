/** Whether a machine is busy is what Linux says of the processes, whatever the machine that runs this does besides. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { until } from '../support/until.js';
import { watchWaits } from './waits.js';

// taskset puts two processes on one processor; it belongs to util-linux, as Linux to the accounts.
const isThere = process.platform === 'linux' && spawnSync('taskset', ['--version']).status === 0;
const ifThere = isThere ? test : test.skip;
if (!isThere) console.warn('skipped: waits of processes, because there is no taskset');

const WORKS = 'for (;;);';
const started: ChildProcess[] = [];

function onFirstProcessor(code: string): ChildProcess & { pid: number } {
  const first = spawnSync('taskset', ['-cp', String(process.pid)], { encoding: 'utf8' }).stdout.match(/(\d+)[-,\d]*\s*$/)?.[1] ?? '0';
  const child = spawn('taskset', ['-c', first, process.execPath, '-e', code], { stdio: 'ignore' });
  started.push(child);
  if (child.pid === undefined) throw new Error('taskset did not start');
  return child as ChildProcess & { pid: number };
}

afterEach(async () => {
  await Promise.all(
    started.splice(0).map(async (child) => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }),
  );
});

ifThere('two processes that work on one processor are told as busy, by the share that the worse one has waited', async () => {
  const [one] = [onFirstProcessor(WORKS), onFirstProcessor(WORKS)];
  const waits = watchWaits([one.pid]);
  const { share } = await until('the waits are seen', () => {
    const told = waits();
    return told.busy && told;
  });
  expect(share).toBeGreaterThan(0.1);
  expect(share).toBeLessThanOrEqual(1.01);
});

ifThere('a process that sleeps has waited for nothing', async () => {
  const sleeping = onFirstProcessor('setTimeout(() => undefined, 2 ** 31 - 1)');
  process.kill(sleeping.pid, 'SIGSTOP');
  // Until then it waits for its processor like any other that starts.
  await until('it is stopped', () => readFileSync(`/proc/${sleeping.pid}/stat`, 'utf8').split(') ').at(-1)!.startsWith('T'));
  const waits = watchWaits([sleeping.pid]);
  for (const begun = performance.now(); performance.now() - begun < 50;) continue;
  expect(waits().waitedMs.get(sleeping.pid)).toBe(0);
});

test('a process that is gone, and one that never was, count for nothing', async () => {
  const gone = spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' });
  const waits = watchWaits([gone.pid ?? 0, 2 ** 22 + 1]);
  await once(gone, 'exit');
  const { share } = waits();
  expect(share).toBeGreaterThanOrEqual(0);
  expect(share).toBeLessThanOrEqual(1.01);
});
