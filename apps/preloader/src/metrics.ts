import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export type ReloadOutcome = 'written' | 'not_newer' | 'missing' | 'retried' | 'postponed' | 'set_aside';

/** What was read and made no sense. */
export type Unreadable = 'job' | 'rules' | 'outbox';

/** What the preloader counts. Labels are few and fixed; no merchant is ever one. */
export class PreloaderMetrics {
  readonly preloadProgress: Gauge;
  readonly preloadedMerchants: Counter;
  readonly preloadSetAside: Counter;
  readonly snapshotsWritten: Counter;
  readonly outboxRelayed: Counter;
  private readonly reloads: Counter<'outcome'>;
  private readonly changeLag: Histogram;
  private readonly unreadables: Counter<'what'>;

  /** @param countSetAside asked at each scrape; when it rejects, the last figure stays. */
  constructor(registry: Registry, countSetAside: () => Promise<number>) {
    const registers = [registry];
    this.preloadProgress = new Gauge({
      name: 'preload_progress_ratio',
      help: 'How much of the running or last full preload is done, 0 to 1',
      registers,
    });
    this.preloadedMerchants = new Counter({
      name: 'preload_merchants_total',
      help: 'Merchants carried to Redis by full preloads',
      registers,
    });
    this.preloadSetAside = new Counter({
      name: 'preload_set_aside_total',
      help: 'Merchants that a full preload could not carry and handed to the queue of single reloads',
      registers,
    });
    this.snapshotsWritten = new Counter({
      name: 'snapshots_written_total',
      help: 'Snapshots written to Redis that were newer than what was there',
      registers,
    });
    this.outboxRelayed = new Counter({ name: 'outbox_relayed_total', help: 'Outbox rows handed to the queue', registers });
    this.reloads = new Counter({
      name: 'reload_jobs_total',
      help: 'Reloads of single merchants by outcome of each try',
      labelNames: ['outcome'],
      registers,
    });
    this.unreadables = new Counter({
      name: 'preloader_unreadable_total',
      help: 'Jobs, rules and outbox rows that were read and made no sense',
      labelNames: ['what'],
      registers,
    });
    for (const what of ['job', 'rules', 'outbox'] as const) this.unreadables.inc({ what }, 0);
    this.changeLag = new Histogram({
      name: 'rule_change_lag_seconds',
      help: 'From the commit of a change to its announcement to the gateways',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300],
      registers,
    });
    new Gauge({
      name: 'jobs_set_aside',
      help: 'Jobs that failed too often and wait for somebody to look at them',
      registers,
      async collect(): Promise<void> {
        const count = await countSetAside().catch(() => undefined);
        if (count !== undefined) this.set(count);
      },
    });
  }

  reload(outcome: ReloadOutcome): void {
    this.reloads.inc({ outcome });
  }

  unreadable(what: Unreadable): void {
    this.unreadables.inc({ what });
  }

  /** @param changedAtMs when the change was committed, by PostgreSQL's clock, milliseconds since the epoch. */
  announced(changedAtMs: number, nowMs: number): void {
    this.changeLag.observe(Math.max(0, nowMs - changedAtMs) / 1_000);
  }
}
