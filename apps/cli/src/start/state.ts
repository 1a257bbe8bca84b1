/** What npm start keeps in its data directory: what it has started, the admin token, databases, logs. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endProcess, isAlive, startMark } from '#scripts/processes.mjs';
import { readRun, runFile, type RunChild } from '#scripts/run-lock.mjs';
import { placeFor, unprivilegedAccount } from '#scripts/services/account.mjs';
import { stopLeftover } from '#scripts/services/postgres.mjs';
import type { Part } from './child.js';

/** Everything that --fresh may remove; what else lies there is not ours. */
const OURS = ['postgres', 'postgres.half', 'postgres-is-in', 'postgres-password', 'redis', 'logs', 'admin-token', 'run.json'];

/** What a killed run left behind has lost its database too, and could wait for it in vain for its whole grace. */
const LEFTOVER_PATIENCE_MS = 1_500;

export class State {
  #children: RunChild[] = [];
  readonly logs: string;
  readonly redisDirectory: string;
  readonly passwordFile: string;

  /** @param directory absolute */
  constructor(private readonly directory: string) {
    this.logs = join(directory, 'logs');
    this.redisDirectory = join(directory, 'redis');
    this.passwordFile = join(directory, 'postgres-password');
  }

  /** Stops what a run that was killed has left running, and names what there was. */
  async stopLeftovers(): Promise<string[]> {
    const left = this.#running();
    // The database is told in its own way; whoever uses it goes first.
    const others = left.filter(({ name }) => name !== 'PostgreSQL');
    await Promise.all(others.map(({ pid }) => endProcess(pid, ['SIGTERM', 'SIGKILL'], LEFTOVER_PATIENCE_MS)));
    const names = left.map(({ name }) => name);
    if ((await stopLeftover(this.#existingPostgres())) && !names.includes('PostgreSQL')) names.push('PostgreSQL');
    return names;
  }

  /** Removes all data, for --fresh. */
  clear(): void {
    rmSync(this.#existingPostgres(), { recursive: true, force: true });
    for (const name of OURS) rmSync(join(this.directory, name), { recursive: true, force: true });
  }

  /** Notes a child, so that the next run finds it if this one cannot stop it. */
  remember({ name, pid, redisUrl }: Part): void {
    this.#children.push({ name, pid, started: startMark(pid), redisUrl });
    this.#write(false);
  }

  /** Notes that this run is about to end. */
  ending(): void {
    this.#write(true);
  }

  /** Notes that nothing runs any more. */
  ended(): void {
    this.#children = [];
    rmSync(runFile(this.directory), { force: true });
  }

  /** Where the Redis of the run that has this directory answers; undefined when nothing runs, or Redis is not its own. */
  ownRedis(): string | undefined {
    return this.#running().find(({ redisUrl }) => redisUrl)?.redisUrl;
  }

  /** The directory of the embedded PostgreSQL: it lies outside when we are root and ours is closed to others, as root's home is. */
  async postgresDirectory(): Promise<string> {
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

  /** The token of the administrator: from the environment, or one made at the first start and kept. */
  adminToken(given: string | undefined): string {
    if (given) return given;
    const file = join(this.directory, 'admin-token');
    if (!existsSync(file)) writeFileSync(file, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 });
    return readFileSync(file, 'utf8').trim();
  }

  /** Where an earlier run has put it; the directory need not be there. */
  #existingPostgres(): string {
    return join(existsSync(this.#noted) ? readFileSync(this.#noted, 'utf8').trim() : this.directory, 'postgres');
  }

  /** Names the place of the database when it is not here. */
  get #noted(): string {
    return join(this.directory, 'postgres-is-in');
  }

  /** What runs of that which was noted: a number alone may be anybody's by now. */
  #running(): RunChild[] {
    return readRun(this.directory).children.filter(({ pid, started }) => isAlive(pid) && startMark(pid) === started);
  }

  #write(ending: boolean): void {
    writeFileSync(runFile(this.directory), JSON.stringify({ ending, children: this.#children }));
  }
}
