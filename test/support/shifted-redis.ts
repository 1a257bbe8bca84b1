/** A real Redis whose clock a test shifts, by libfaketime. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { obtainFaketime } from '../../scripts/services/fetch-redis.mjs';
import { findRedisServer } from '../../scripts/services/redis.mjs';
import { freshRedis, type TestRedis } from './services.js';

export interface ShiftedRedis extends TestRedis {
  /** From now on its clock is ahead of the true one by so many seconds, or behind. */
  shift(seconds: number): void;
}

/** Undefined where libfaketime cannot be had, or does not work with this Redis: then it says so. */
export async function shiftedRedis(): Promise<ShiftedRedis | undefined> {
  const [library, program] = [obtainFaketime(), findRedisServer()];
  const libc = program && /(\S*\/libc\.so\.6)/.exec(spawnSync('ldd', [program], { encoding: 'utf8' }).stdout ?? '')?.[1];
  if (!library || !program || !libc) return skipped('libfaketime cannot be had on this machine');
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-clock-'));
  const file = join(folder, 'shift');
  const shift = (seconds: number): void => writeFileSync(file, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}s\n`);
  shift(0);
  const env = {
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    // The C library before jemalloc, which asks for the time while libfaketime looks for the functions that tell it.
    LD_PRELOAD: `${library} ${libc}`,
  };
  try {
    const server = await freshRedis({ env });
    const stop = server.stop.bind(server);
    return Object.assign(server, {
      shift,
      async stop() {
        await stop();
        rmSync(folder, { recursive: true, force: true });
      },
    });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    return skipped(`this Redis does not run under libfaketime: ${String(error)}`);
  }
}

function skipped(why: string): undefined {
  console.warn(`NOT TESTED: a Redis with a shifted clock: ${why}`);
  return undefined;
}
