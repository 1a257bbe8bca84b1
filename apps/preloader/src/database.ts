import type { Logger } from '#platform';
import { connectWhenUp } from '#rules-db';
import type { DataSource } from 'typeorm';

/** The connection to PostgreSQL. It is opened in the background, however long that takes, and closed at the end. */
export class Database {
  private readonly stopped = new AbortController();
  private connecting: Promise<void> | undefined;

  constructor(
    readonly dataSource: DataSource,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.connecting ??= this.connect();
  }

  async stop(): Promise<void> {
    this.stopped.abort();
    await this.connecting;
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
  }

  private async connect(): Promise<void> {
    let failed = false;
    const onFailure = (err: unknown): void => {
      failed = true;
      this.logger.warn({ err }, 'PostgreSQL does not answer yet, the preloader waits for it');
    };
    try {
      await connectWhenUp(this.dataSource, { signal: this.stopped.signal, onFailure });
      if (failed) this.logger.info('PostgreSQL is connected');
    } catch (error) {
      // It rejects only if this process is ending.
      this.logger.debug({ err: error }, 'the process ends before PostgreSQL has answered');
    }
  }
}
