/** A lock between processes: a file that names its holder. A holder that is gone, however it went, holds nothing. */
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, startMark } from './processes.mjs';

/**
 * @typedef {{ held: true, release: () => void } | { held: false, holder: number }} LockAttempt
 */

/**
 * Takes the lock, or says which process has it.
 * @param {string} file
 * @returns {LockAttempt}
 */
export function tryLock(file) {
  mkdirSync(dirname(file), { recursive: true });
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ pid: process.pid, started: startMark(process.pid) }));
  try {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      try {
        // A link appears with its content, and fails where the file is already.
        linkSync(mine, file);
        return { held: true, release: () => release(file) };
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
      }
      const holder = holderOf(file);
      if (holder !== undefined && holder !== process.pid) return { held: false, holder };
      rmSync(file, { force: true });
    }
    throw new Error(`${file} could not be taken, though nobody holds it`);
  } finally {
    rmSync(mine, { force: true });
  }
}

/**
 * Does something under the lock, waiting for whoever has it.
 * @template T
 * @param {string} file
 * @param {number} withinMs
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(file, withinMs, work) {
  for (const end = Date.now() + withinMs; ; await sleep(50)) {
    const lock = tryLock(file);
    if (lock.held) {
      try {
        return await work();
      } finally {
        lock.release();
      }
    }
    if (Date.now() >= end) throw new Error(`${file} has been held by process ${lock.holder} for ${withinMs / 1000} s`);
  }
}

/**
 * The living process that holds a lock.
 * @param {string} file
 * @returns {number | undefined}
 */
function holderOf(file) {
  try {
    const { pid, started } = JSON.parse(readFileSync(file, 'utf8'));
    return Number.isInteger(pid) && isAlive(pid) && startMark(pid) === started ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} file */
function release(file) {
  if (holderOf(file) === process.pid) rmSync(file, { force: true });
}
