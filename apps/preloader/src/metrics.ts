import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export type ReloadOutcome = 'written' | 'not_newer' | 'missing' | 'retried' | 'postponed' | 'failed';

/** What could not be parsed. */
export type Unreadable = 'job' | 'rules' | 'outbox' | 'limit_event';

/** The metrics of the preloader. Labels are few and fixed; no merchant is ever one. */
export class PreloaderMetrics {
  readonly preloadProgress: Gauge;
  readonly preloadedMerchants: Counter;
  readonly preloadSkippedMerchants: Counter;
  readonly snapshotsWritten: Counter;
  readonly outboxRelayed: Counter;
  private readonly reloads: Counter<'outcome'>;
  private readonly changeLag: Histogram;
  private readonly unreadables: Counter<'what'>;

  /** @param countFailedJobs called at each scrape; if it rejects, the last figure stays. */
  constructor(registry: Registry, countFailedJobs: () => Promise<number>) {
    const registers = [registry];
    this.preloadProgress = new Gauge({
      name: 'tollgate_preload_progress_ratio',
      help: 'Progress of the running or latest full preload, 0 to 1',
      registers,
    });
    this.preloadedMerchants = new Counter({
      name: 'tollgate_preload_merchants_total',
      help: 'Merchants that full preloads have written to Redis',
      registers,
    });
    this.preloadSkippedMerchants = new Counter({
      name: 'tollgate_preload_skipped_merchants_total',
      help: 'Merchants that a full preload skipped because of an error and handed to the queue of single reloads',
      registers,
    });
    this.snapshotsWritten = new Counter({
      name: 'tollgate_snapshots_written_total',
      help: 'Snapshots written to Redis because they were newer than the stored ones',
      registers,
    });
    this.outboxRelayed = new Counter({
      name: 'tollgate_outbox_relayed_total',
      help: 'Outbox rows that the relay has handed to the queue',
      registers,
    });
    this.reloads = new Counter({
      name: 'tollgate_reload_jobs_total',
      help: 'Reloads of single merchants, by the outcome of each attempt',
      labelNames: ['outcome'],
      registers,
    });
    this.unreadables = new Counter({
      name: 'tollgate_preloader_unreadable_total',
      help: 'Jobs, rules, outbox rows and events of limits that could not be parsed',
      labelNames: ['what'],
      registers,
    });
    for (const what of ['job', 'rules', 'outbox', 'limit_event'] as const) this.unreadables.inc({ what }, 0);
    this.changeLag = new Histogram({
      name: 'tollgate_rule_change_lag_seconds',
      help: 'Time from the commit of a rule change to its announcement to the gateways',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300],
      registers,
    });
    addFailedJobs(registry, countFailedJobs);
  }

  reload(outcome: ReloadOutcome): void {
    this.reloads.inc({ outcome });
  }

  unreadable(what: Unreadable): void {
    this.unreadables.inc({ what });
  }

  /** @param changedAtMs when the change was committed, by PostgreSQL's clock, in milliseconds since 1970 */
  announced(changedAtMs: number, nowMs: number): void {
    this.changeLag.observe(Math.max(0, nowMs - changedAtMs) / 1_000);
  }
}

function addFailedJobs(registry: Registry, count: () => Promise<number>): void {
  new Gauge({
    name: 'tollgate_jobs_failed',
    help: 'Jobs that failed in every attempt and that somebody has to look at',
    registers: [registry],
    async collect(): Promise<void> {
      const failed = await count().catch(() => undefined);
      if (failed !== undefined) this.set(failed);
    },
  });
}
