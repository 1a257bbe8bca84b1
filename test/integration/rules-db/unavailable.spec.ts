import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { assertConnected, connectWhenUp, createDataSource, isDatabaseUnavailable, MerchantRepository, RuleReader } from '#rules-db';
import { PATIENCE } from '../../support/patience.mjs';
import { until } from '../../support/until.js';
import { BY } from '../../support/factories/merchants.js';
import { migratedDatabase } from './database.js';

/** An answer comes after seconds, not after the minutes that TCP would take, nor the minute that the busy connection is busy. */
const IN_TIME_MS = 8_000 * PATIENCE;

/** A line to PostgreSQL that can be cut, or go silent while it stays open. */
class Line {
  private readonly sockets = new Set<Socket>();
  private silent = false;
  private server: Server | undefined;
  port = 0;

  constructor(private readonly target: URL) {}

  async open(): Promise<void> {
    this.silent = false;
    this.server = createServer((near) => {
      const far = connect(Number(this.target.port || 5432), this.target.hostname);
      this.sockets.add(near).add(far);
      near.on('data', (bytes) => this.silent || far.write(bytes));
      far.on('data', (bytes) => this.silent || near.write(bytes));
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.on('error', () => other.destroy());
        one.on('close', () => other.destroy());
      }
    });
    const { server } = this;
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.port = (server.address() as AddressInfo).port;
  }

  silence(): void {
    this.silent = true;
  }

  cut(): void {
    this.server?.close();
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }
}

describe('an unavailable database', () => {
  let database: Awaited<ReturnType<typeof migratedDatabase>>;
  let line: Line;
  let url: string;

  beforeAll(async () => {
    database = await migratedDatabase();
    line = new Line(new URL(database.url));
    await line.open();
    const target = new URL(database.url);
    target.host = `127.0.0.1:${line.port}`;
    url = target.href;
  });
  afterAll(async () => {
    line.cut();
    await database.close();
  });

  async function failure(work: Promise<unknown>): Promise<{ error: unknown; afterMs: number }> {
    const before = performance.now();
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    return { error, afterMs: performance.now() - before };
  }

  it('fails in time when the connection is cut, and works again by itself', async () => {
    const dataSource = createDataSource(url, { statementTimeoutMs: 500 });
    await dataSource.initialize();
    line.cut();
    for (let i = 0; i < 3; i++) {
      const { error, afterMs } = await failure(new RuleReader(dataSource).merchantCount());
      expect(isDatabaseUnavailable(error)).toBe(true);
      expect(afterMs).toBeLessThan(IN_TIME_MS);
    }
    await line.open();
    expect(await new RuleReader(dataSource).merchantCount()).toBe(0);
    await dataSource.destroy();
  });

  it('fails in time when the server does not answer, and leaves no open transaction to the next user', async () => {
    const dataSource = createDataSource(url, { statementTimeoutMs: 1_000, poolSize: 1 });
    await dataSource.initialize();
    const merchants = new MerchantRepository(dataSource);
    const { error, afterMs } = await failure(
      dataSource.transaction(async (manager) => {
        await manager.query("INSERT INTO merchant VALUES ('ghost', 'ghost', 'UTC', 1, 1)");
        line.silence();
        await manager.query('SELECT 1');
      }),
    );
    expect(isDatabaseUnavailable(error)).toBe(true);
    expect(afterMs).toBeLessThan(IN_TIME_MS);
    line.cut();
    await line.open();
    await merchants.create({ id: 'real', name: 'real', timeZone: 'UTC' }, BY);
    expect(await merchants.find('ghost')).toBeNull();
    expect(await merchants.find('real')).not.toBeNull();
    await dataSource.destroy();
  });

  it('fails in time when all connections are busy', async () => {
    const dataSource = createDataSource(url, { statementTimeoutMs: 60_000, poolSize: 1 });
    await dataSource.initialize();
    const busy = dataSource.query('SELECT pg_sleep(60)').catch(() => undefined);
    const { error, afterMs } = await failure(dataSource.query('SELECT 1'));
    expect(isDatabaseUnavailable(error)).toBe(true);
    expect(afterMs).toBeLessThan(IN_TIME_MS);
    line.cut();
    await busy;
    await line.open();
    await dataSource.destroy();
  });

  it('ends a statement that takes too long in the server', async () => {
    const dataSource = createDataSource(url, { statementTimeoutMs: 300 });
    await dataSource.initialize();
    const { error } = await failure(dataSource.query('SELECT pg_sleep(30)'));
    expect(String(error)).toContain('statement timeout');
    expect(isDatabaseUnavailable(error)).toBe(true);
    expect(await dataSource.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await dataSource.destroy();
  });

  it('is waited for at the start', async () => {
    line.cut();
    const dataSource = createDataSource(url);
    const failures: unknown[] = [];
    const connected = connectWhenUp(dataSource, { onFailure: (error) => failures.push(error) });
    expect(() => assertConnected(dataSource)).toThrow('not connected yet: the first attempt has not ended');
    await until(() => failures.length > 0);
    expect(failures.every(isDatabaseUnavailable)).toBe(true);
    expect(() => assertConnected(dataSource)).toThrow(/not connected yet: Error: (connect ECONNREFUSED|read ECONNRESET|.*terminated)/);
    await line.open();
    await connected;
    expect(() => assertConnected(dataSource)).not.toThrow();
    await dataSource.destroy();
  });

  it('is waited for only until the signal aborts', async () => {
    line.cut();
    const ending = new AbortController();
    const connected = connectWhenUp(createDataSource(url), { signal: ending.signal });
    ending.abort(new Error('stopping'));
    await expect(connected).rejects.toThrow();
    await line.open();
  });

  it('is distinguished from a wrong statement', async () => {
    const { error } = await failure(database.dataSource.query('SELECT nonsense'));
    expect(isDatabaseUnavailable(error)).toBe(false);
    expect(isDatabaseUnavailable(new Error('no'))).toBe(false);
    expect(isDatabaseUnavailable('timeout')).toBe(false);
  });
});
