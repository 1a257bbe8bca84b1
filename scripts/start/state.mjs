/** What `npm start` keeps in its data directory: who runs, the admin token, databases, logs. */
import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from '../lock.mjs';
import { endProcess, isAlive, startMark } from '../processes.mjs';
import { placeFor, unprivilegedAccount } from '../services/account.mjs';
import { stopLeftover } from '../services/postgres.mjs';

/** Everything that --fresh may remove; what else lies there is not ours. */
const OURS = ['postgres', 'postgres.half', 'postgres-is-in', 'postgres-password', 'redis', 'logs', 'admin-token', 'run.json'];

/** How long a run that is ending may take until another one can begin. */
const ENDING_PATIENCE_MS = 30_000;
/** How long a run whose npm was killed may take to notice. */
const NOTICE_MS = 1_500;

/** What a killed run left behind has lost its database too, and could wait for it in vain for its whole grace. */
const LEFTOVER_PATIENCE_MS = 1_500;

/** @typedef {{ name: string, pid: number, started: string | undefined, redisUrl?: string | undefined }} Child */

export class State {
  /** @type {Child[]} */
  #children = [];
  /** @type {(() => void) | undefined} */
  #release;

  /** @param {string} directory absolute */
  constructor(directory) {
    this.directory = directory;
    this.logs = join(directory, 'logs');
    this.redisDirectory = join(directory, 'redis');
    this.passwordFile = join(directory, 'postgres-password');
  }

  /**
   * Makes the directory this run's own.
   * @throws {Error} when another run has it, or when it cannot be written
   */
  async take() {
    try {
      mkdirSync(this.directory, { recursive: true });
      accessSync(this.directory, constants.W_OK);
    } catch (error) {
      throw new Error(
        `The data directory ${this.directory} cannot be written (${/** @type {NodeJS.ErrnoException} */ (error).code}). Set TOLLGATE_DATA_DIR to another one.`,
      );
    }
    const file = join(this.directory, 'run.lock');
    const startedMs = Date.now();
    for (;;) {
      const lock = tryLock(file);
      if (lock.held) {
        this.#release = lock.release;
        return;
      }
      if (Date.now() - startedMs > (this.#read().ending ? ENDING_PATIENCE_MS : NOTICE_MS)) {
        throw new Error(
          `npm start is already running here, as process ${lock.holder}. Stop it with Ctrl-C, or: kill ${lock.holder}\nA second one beside it needs its own TOLLGATE_DATA_DIR and ports.`,
        );
      }
      await sleep(100);
    }
  }

  release() {
    this.#children = [];
    rmSync(join(this.directory, 'run.json'), { force: true });
    this.#release?.();
  }

  /**
   * Stops what a run that was killed has left running.
   * @returns {Promise<string[]>} the names of what was there
   */
  async stopLeftovers() {
    const left = this.#read().children.filter(({ pid, started }) => isAlive(pid) && startMark(pid) === started);
    // The database is told in its own way; whoever uses it goes first.
    await Promise.all(
      left.filter(({ name }) => name !== 'PostgreSQL').map(({ pid }) => endProcess(pid, ['SIGTERM', 'SIGKILL'], LEFTOVER_PATIENCE_MS)),
    );
    const names = left.map(({ name }) => name);
    if ((await stopLeftover(this.#existingPostgres())) && !names.includes('PostgreSQL')) names.push('PostgreSQL');
    return names;
  }

  /** Removes all data, for --fresh. */
  clear() {
    rmSync(this.#existingPostgres(), { recursive: true, force: true });
    for (const name of OURS) rmSync(join(this.directory, name), { recursive: true, force: true });
  }

  /**
   * Notes a child, so that the next run finds it if this one cannot stop it.
   * @param {import('./child.mjs').Part} part
   */
  remember({ name, pid, redisUrl }) {
    this.#children.push({ name, pid, started: startMark(pid), redisUrl });
    this.#write(false);
  }

  /** Where the Redis of the run that has this directory answers; undefined when nothing runs, or Redis is not its own. */
  ownRedis() {
    return this.#read().children.find(({ pid, started, redisUrl }) => redisUrl && isAlive(pid) && startMark(pid) === started)?.redisUrl;
  }

  /** Notes that this run is about to end. */
  ending() {
    this.#write(true);
  }

  /** The directory of the embedded PostgreSQL: it lies outside when we are root and ours is closed to others, as root's home is. */
  async postgresDirectory() {
    const place = placeFor(this.directory, unprivilegedAccount());
    const directory = join(place, 'postgres');
    if (place !== this.directory && !existsSync(this.#noted)) {
      // Somebody has removed our directory to begin anew; what it had outside goes with it.
      await stopLeftover(directory);
      rmSync(directory, { recursive: true, force: true });
      writeFileSync(this.#noted, `${place}\n`);
    }
    return directory;
  }

  /** Where an earlier run has put it; the directory need not be there. */
  #existingPostgres() {
    return join(existsSync(this.#noted) ? readFileSync(this.#noted, 'utf8').trim() : this.directory, 'postgres');
  }

  /** Names the place of the database when it is not here. */
  get #noted() {
    return join(this.directory, 'postgres-is-in');
  }

  /**
   * The token of the administrator: from the environment, or one made at the first start and kept.
   * @param {string | undefined} given
   * @returns {string}
   */
  adminToken(given) {
    if (given) return given;
    const file = join(this.directory, 'admin-token');
    if (!existsSync(file)) writeFileSync(file, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
    return readFileSync(file, 'utf8').trim();
  }

  /** @returns {{ ending: boolean, children: Child[] }} */
  #read() {
    try {
      const { ending, children } = JSON.parse(readFileSync(join(this.directory, 'run.json'), 'utf8'));
      return { ending: ending === true, children: Array.isArray(children) ? children : [] };
    } catch {
      return { ending: false, children: [] };
    }
  }

  /** @param {boolean} ending */
  #write(ending) {
    writeFileSync(join(this.directory, 'run.json'), JSON.stringify({ ending, children: this.#children }));
  }
}
