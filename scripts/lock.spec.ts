import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tryLock, withLock } from './lock.mjs';

describe('a lock between processes', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-lock-'));
    file = join(folder, 'inner', 'lock');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is taken, released, and taken again', () => {
    const first = tryLock(file);
    if (!first.held) throw new Error('should be free');
    first.release();
    expect(existsSync(file)).toBe(false);
    expect(tryLock(file).held).toBe(true);
  });

  it('says which living process has it', () => {
    const script = `import { tryLock } from '${join(import.meta.dirname, 'lock.mjs')}'; console.log(JSON.stringify(tryLock(process.argv[1])));`;
    const ours = tryLock(file);
    expect(ours.held).toBe(true);
    const theirs = spawnSync(process.execPath, ['--input-type=module', '-e', script, file], { encoding: 'utf8' });
    expect(JSON.parse(theirs.stdout)).toEqual({ held: false, holder: process.pid });
  });

  it('is not held by a process that is gone, nor by a stranger with its number, nor by a broken file', () => {
    const gone = spawnSync(process.execPath, ['-e', '']).pid;
    for (const content of [
      JSON.stringify({ pid: gone, started: '1' }),
      JSON.stringify({ pid: 1, started: 'at another time' }),
      '{"pid":',
      '',
    ]) {
      tryLock(file);
      writeFileSync(file, content);
      expect(tryLock(file).held).toBe(true);
      rmSync(file);
    }
  });

  it('is released when the work under it fails', async () => {
    await expect(withLock(file, 1000, () => Promise.reject(new Error('work failed')))).rejects.toThrow('work failed');
    await expect(withLock(file, 1000, () => Promise.resolve('done'))).resolves.toBe('done');
  });
});
