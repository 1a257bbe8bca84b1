import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { isAlive, waitUntilGone } from './processes.mjs';

/** Ties one child, unties another by letting it end, says their pids, and then hangs. */
const HOLDER = `
import { spawn } from 'node:child_process';
import { Tether } from '${join(import.meta.dirname, 'tether.mjs')}';
const tether = new Tether();
const lasting = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
const brief = spawn('true', { stdio: 'ignore' });
tether.tie(lasting, 'TERM');
tether.tie(brief, 'KILL');
brief.once('exit', () => console.log(lasting.pid));
setInterval(() => {}, 1000);
`;

describe('a tether', () => {
  it('ends the children of a process that is killed with -9', async () => {
    const holder = spawn(process.execPath, ['--input-type=module', '-e', HOLDER], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pid = await new Promise<number>((resolve) => createInterface({ input: holder.stdout }).once('line', (line) => resolve(Number(line))));
    expect(isAlive(pid)).toBe(true);
    holder.kill('SIGKILL');
    await expect(waitUntilGone(pid, 5000)).resolves.toBe(true);
  });
});
