import { Counter, type Registry } from 'prom-client';
import type { DataSource } from 'typeorm';
import type { Logger } from '#platform';
import { assertConnected, connectWhenUp, createDataSource, isDatabaseUnavailable, migrate, reasonOf } from '#rules-db';
import { retryUntilDone } from '#waiting';

/** At most so many requests wait for a connection, ten for each. */
const MAX_WAITING = 100;

/** The database of the Rules API, not yet connected. Requests that find too many others waiting are counted. */
export function createRulesDataSource(url: string, registry: Registry): DataSource {
  const shed = new Counter({
    name: 'tollgate_rules_api_database_shed_total',
    help: 'Requests that were refused because too many others waited for a connection to the database',
    registers: [registry],
  });
  return createDataSource(url, { applicationName: 'tollgate-rules-api', maxWaiting: MAX_WAITING, onShed: () => shed.inc() });
}

/** The database during the life of the process: first not connected, then connected, then migrated. */
export class RulesDatabase {
  private migrated = false;
  /** Why the last attempt to migrate has failed; empty before the first. */
  private failure = '';

  constructor(
    readonly dataSource: DataSource,
    private readonly logger: Logger,
  ) {}

  /** True once the database was connected and migrated; PostgreSQL may be unavailable again. */
  get isReady(): boolean {
    return this.migrated;
  }

  /** The health check. @throws Error with the reason while requests cannot be answered */
  readonly check = async (): Promise<void> => {
    assertConnected(this.dataSource);
    if (!this.migrated) throw new Error(`not migrated yet${this.failure && `: ${this.failure}`}`);
    await this.dataSource.query('SELECT 1');
  };

  async close(): Promise<void> {
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
  }

  /** Connects and migrates, and waits for PostgreSQL as long as necessary. Resolves early if the signal aborts; rejects if a migration fails. */
  async prepare(signal: AbortSignal): Promise<void> {
    const connectAndMigrate = async (): Promise<string[]> => {
      await connectWhenUp(this.dataSource, {
        signal,
        onFailure: (err) => this.logger.warn({ err }, 'PostgreSQL does not answer yet, the Rules API waits for it'),
      });
      return migrate(this.dataSource);
    };
    try {
      const migrations = await retryUntilDone(connectAndMigrate, {
        signal,
        isTemporary: isDatabaseUnavailable,
        onFailure: (err) => this.failed(err),
      });
      this.migrated = true;
      this.logger.info({ migrations }, 'the database is migrated and ready');
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  private failed(err: unknown): void {
    const reason = reasonOf(err);
    if (reason !== this.failure) this.logger.warn({ err }, 'the database cannot be migrated yet, the Rules API tries again');
    this.failure = reason;
  }
}
