import { createDataSource, PoolBusyError } from '#rules-db';
import { freshDatabase } from '../../support/services.js';

test('a bounded number of callers waits for a connection of the pool, and the others are refused at once', async () => {
  const database = await freshDatabase();
  let shed = 0;
  const dataSource = createDataSource(database.url, { poolSize: 2, maxWaiting: 3, onShed: () => shed++ });
  try {
    await dataSource.initialize();
    const holders = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
    for (const holder of holders) await holder.connect();

    const order: string[] = [];
    const asks = Array.from({ length: 8 }, (_, i) =>
      dataSource.query('SELECT 1').then(
        () => order.push(`${i} answered`),
        (error: unknown) => order.push(`${i} ${error instanceof PoolBusyError ? 'turned away' : String(error)}`),
      ),
    );
    await Promise.all(asks.slice(3));
    expect(order.sort()).toEqual([3, 4, 5, 6, 7].map((i) => `${i} turned away`));
    expect(shed).toBe(5);

    for (const holder of holders) await holder.release();
    await Promise.all(asks);
    expect(order.slice(5).sort()).toEqual([0, 1, 2].map((i) => `${i} answered`));
    // The pool works on, for transactions as well.
    await expect(dataSource.transaction((manager) => manager.query('SELECT 1'))).resolves.toHaveLength(1);
  } finally {
    await dataSource.destroy();
    await database.drop();
  }
});
