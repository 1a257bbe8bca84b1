import { type DataSource } from 'typeorm';
import { type Logger } from '#platform';
import { connectWhenUp, isDatabaseUnavailable, migrate } from '#rules-db';
import { retryUntilDone } from '#waiting';

/** The database from the start of the process: first absent, then connected, then migrated. */
export class RulesDatabase {
  private migrated = false;

  constructor(
    readonly dataSource: DataSource,
    private readonly logger: Logger,
  ) {}

  /** True once it was there and migrated; it may have gone away since. */
  get isReady(): boolean {
    return this.migrated;
  }

  /** Throws while requests cannot be answered. */
  readonly check = async (): Promise<void> => {
    if (!this.dataSource.isInitialized) throw new Error('not connected yet');
    if (!this.migrated) throw new Error('not migrated yet');
    await this.dataSource.query('SELECT 1');
  };

  async close(): Promise<void> {
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
  }

  /** Connects and migrates, waiting as long as it takes for PostgreSQL. Ends early when the signal aborts, and rejects when a migration is wrong. */
  async prepare(signal: AbortSignal): Promise<void> {
    const connectAndMigrate = async (): Promise<string[]> => {
      await connectWhenUp(this.dataSource, { signal, onFailure: (err) => this.logger.warn({ err }, 'PostgreSQL is not there yet') });
      return migrate(this.dataSource);
    };
    try {
      const migrations = await retryUntilDone(connectAndMigrate, { signal, isTemporary: isDatabaseUnavailable });
      this.migrated = true;
      this.logger.info({ migrations }, 'the database is ready');
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
