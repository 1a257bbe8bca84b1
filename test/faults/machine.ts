/** What a process believes of the machine that it runs on. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Pretended {
  /** Names of servers: they resolve; are unknown at once; or nobody answers for five seconds. */
  readonly names?: 'resolve' | 'unknown' | 'silent';
  /** By how much its clock is ahead. Milliseconds. */
  readonly aheadMs?: number;
}

export class Machine {
  private readonly folder = mkdtempSync(join(tmpdir(), 'tollgate-machine-'));
  private readonly file = join(this.folder, 'pretended');

  constructor() {
    this.pretend({});
  }

  /** What a process needs in its environment to believe it. */
  get env(): Record<string, string> {
    return { NODE_OPTIONS: `--import=${new URL('pretend.mjs', import.meta.url).href}`, TOLLGATE_PRETEND: this.file };
  }

  /** From now on, within a few hundredths of a second. What is not named is as it should be. */
  pretend({ names = 'resolve', aheadMs = 0 }: Pretended): void {
    writeFileSync(`${this.file}.new`, JSON.stringify({ names, aheadMs }));
    renameSync(`${this.file}.new`, this.file);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
