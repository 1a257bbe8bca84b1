import type { ClientBase } from 'pg';
import type { DataSource } from 'typeorm';

/** A statement that PostgreSQL parses and plans once for each connection. */
export interface PreparedStatement {
  /** Of this text only. */
  readonly name: string;
  /** It names every column that it answers: if a migration changes what a `*` stands for, PostgreSQL refuses the statement until the connection is a new one. */
  readonly text: string;
}

/** The rows that a prepared statement answers. For statements that are asked often and take longer to plan than to execute: TypeORM knows no others. */
export async function askPrepared<T>(dataSource: DataSource, statement: PreparedStatement, values: readonly unknown[]): Promise<T[]> {
  const runner = dataSource.createQueryRunner();
  try {
    const client = (await runner.connect()) as ClientBase;
    const { rows } = await client.query({ ...statement, values: [...values] });
    return rows as T[];
  } finally {
    await runner.release();
  }
}
