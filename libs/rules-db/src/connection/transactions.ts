import type { DataSource, EntityManager } from 'typeorm';
import type { Change } from '../changes/change.js';
import { ChangeLog } from '../changes/change-log.js';

/** Changes rows by `manager`, and notes with `record` what the audit and the outbox have to know of it. */
export type Write<T> = (manager: EntityManager, record: (change: Change) => void) => Promise<T>;

/** In which transactions a repository writes. */
export interface Transactions {
  readonly manager: EntityManager;
  run<T>(write: Write<T>): Promise<T>;
}

/** Each write is a transaction of its own. */
export function separateTransactions(dataSource: DataSource): Transactions {
  return {
    // TypeORM makes the manager anew when it connects.
    get manager() {
      return dataSource.manager;
    },
    run: (write) => inOneTransaction(dataSource, (one) => one.run(write)),
  };
}

/**
 * All writes of `work` are one transaction: all or none. Their audit rows are its last statements, because the first of them makes
 * every other writer wait until the transaction ends. Until then they are kept packed.
 */
export async function inOneTransaction<T>(dataSource: DataSource, work: (transaction: Transactions) => Promise<T>): Promise<T> {
  return dataSource.transaction(async (manager) => {
    const log = new ChangeLog();
    const result = await work({ manager, run: (write) => write(manager, (change) => log.push(change)) });
    await log.write(manager);
    return result;
  });
}

/** The key of the advisory lock of apply: any number that nothing else in this database uses ("apply" on a telephone keypad). */
const APPLY_LOCK = 27_759;

/** Takes the lock of apply, in every process one at a time, until the transaction ends; false if another transaction has it. */
export async function tryLockForApply({ manager }: Transactions): Promise<boolean> {
  const [row] = (await manager.query('SELECT pg_try_advisory_xact_lock($1) AS locked', [APPLY_LOCK])) as { locked: boolean }[];
  return row?.locked === true;
}
