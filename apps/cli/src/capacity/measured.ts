import { existsSync, readFileSync } from 'node:fs';
import { isPlainObject } from '#limiter';
import { notStarted } from '../shared/command-error.js';

/** A figure that a bench has measured, as bench/published.json has it. */
export interface Measured {
  readonly value: number;
  readonly unit: string;
  readonly what: string;
  /** When, and of which version. */
  readonly run: string;
}

/** What a plan is reckoned from: the bench that measures it, its name, and the figure under which it stands. */
const FIGURES = {
  requestsOfCore: { bench: 'gateway-limiting', of: 'gateway: with a rule / limiting off', name: 'with a rule' },
  takeMicros: { bench: 'algorithms', of: 'token_bucket: gathered / one by one', name: 'Redis CPU a take' },
  leaseMicros: { bench: 'leases', of: 'leased / exact, Zipf over 100,000 merchants', name: 'leased: Redis CPU a take or report' },
  leaseReports: { bench: 'leases', of: 'one hot merchant, leased: takes of Redis for a decision', name: 'leased: reports a second' },
  bucketBytes: { bench: 'memory', name: 'memory: a preloaded bucket, key and TTL included' },
  snapshotBytes: { bench: 'memory', name: 'memory: snapshot of a merchant with one rule' },
  markBytes: { bench: 'memory', of: 'memory: snapshot of a merchant with one rule', name: 'mark of a merchant without rules of its own' },
  diskBytes: { bench: 'memory', name: 'memory: PostgreSQL, a merchant with one rule, indexes included' },
  preloadedPerSecond: {
    bench: 'preload',
    of: 'preload: from PostgreSQL to Redis / redis-cli --pipe',
    name: 'from PostgreSQL to Redis, merchants',
  },
  preloaderMegabytes: { bench: 'preload', of: 'preload: memory, last quarter / second quarter', name: 'memory at most' },
} as const;

export type Figures = { readonly [Name in keyof typeof FIGURES]: Measured };

/** @throws {CommandError} if a figure is missing */
export function figuresIn(file: string): Figures {
  if (!existsSync(file)) throw notStarted(`${file} is not there: run the command in a checkout.`);
  return figuresOf(JSON.parse(readFileSync(file, 'utf8')));
}

/** @throws {CommandError} if a figure is missing */
export function figuresOf(published: unknown): Figures {
  const runs = isPlainObject(published) && Array.isArray(published['runs']) ? (published['runs'] as unknown[]).filter(isPlainObject) : [];
  const entries = Object.entries(FIGURES).map(([key, wanted]) => {
    const found = runs.flatMap((run) => measuredIn(run, wanted))[0];
    if (found === undefined) throw notStarted(`"${wanted.name}" was not measured: npm run bench -- --only ${wanted.bench} --record`);
    return [key, found];
  });
  return Object.fromEntries(entries) as unknown as Figures;
}

function measuredIn(run: Readonly<Record<string, unknown>>, { of, name }: { readonly of?: string; readonly name: string }): Measured[] {
  const figures = Array.isArray(run['figures']) ? (run['figures'] as unknown[]).filter(isPlainObject) : [];
  const isWanted = (figure: Readonly<Record<string, unknown>>): boolean => figure['name'] === name && figure['of'] === of;
  return figures
    .filter(isWanted)
    .flatMap(({ median, unit }) =>
      typeof median === 'number' && median > 0 && Number.isFinite(median)
        ? [{ value: median, unit: String(unit), what: name, run: `${String(run['on'])} at ${String(run['commit'])}` }]
        : [],
    );
}
