import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { isAlive, waitUntilGone } from './processes.mjs';

/** Ties a child that lasts, unties another by letting it end, says the pid of the first, and then hangs. */
const holderOf = (command: string[], patienceS: number) => `
import { spawn } from 'node:child_process';
import { Tether } from '${join(import.meta.dirname, 'tether.mjs')}';
const tether = new Tether(${patienceS});
const lasting = spawn('${command[0]}', ${JSON.stringify(command.slice(1))}, { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
const brief = spawn('true', { stdio: 'ignore' });
tether.tie(lasting, 'TERM');
tether.tie(brief, 'KILL');
lasting.stdout.once('data', () => brief.exitCode === null ? brief.once('exit', () => console.log(lasting.pid)) : console.log(lasting.pid));
setInterval(() => {}, 1000);
`;

async function killHolderOf(command: string[], patienceS: number): Promise<number> {
  const holder = spawn(process.execPath, ['--input-type=module', '-e', holderOf(command, patienceS)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = await new Promise<number>((resolve) =>
    createInterface({ input: holder.stdout }).once('line', (line) => resolve(Number(line))),
  );
  expect(isAlive(pid)).toBe(true);
  holder.kill('SIGKILL');
  return pid;
}

describe('a tether', () => {
  it('ends the children of a process that is killed with -9', async () => {
    const pid = await killHolderOf(['sh', '-c', 'echo on; exec sleep 60'], 60);
    await expect(waitUntilGone(pid, 5000)).resolves.toBe(true);
  });

  it('kills a child that does not hear, when its patience is over', async () => {
    const pid = await killHolderOf(['sh', '-c', 'trap "" TERM; echo on; sleep 60 & wait; while :; do sleep 1; done'], 1);
    await expect(waitUntilGone(pid, 10_000)).resolves.toBe(true);
  });
});
