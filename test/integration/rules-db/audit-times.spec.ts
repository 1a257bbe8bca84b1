import type { DataSource } from 'typeorm';
import { type AuditFilter, auditQuery, AuditRepository } from '#rules-db';
import { migratedDatabase } from './database.js';

/** An hour between two rows: 200 days. */
const ROWS = 4_800;
const FIRST = Date.parse('2026-01-01T00:00:00Z');
const HOUR_MS = 3_600_000;
const A_DAY = 24;

const hour = (i: number) => new Date(FIRST + i * HOUR_MS);

let dataSource: DataSource;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ dataSource, close } = await migratedDatabase());
  await dataSource.transaction(async (manager) => {
    // Without the triggers of the chain, which no test here looks at.
    await manager.query('SET LOCAL session_replication_role = replica');
    // Every tenth row is of two hours before the one before it.
    await manager.query(
      `INSERT INTO audit (at, actor, action, merchant_id, seq, hash)
       SELECT to_timestamp($2) + (i - CASE WHEN i % 10 = 9 THEN 3 ELSE 0 END) * interval '1 hour', 'x', 'rule.created', 'm' || i % 3, i + 1, ''
       FROM generate_series(0, $1::int - 1) i`,
      [ROWS, FIRST / 1000],
    );
  });
  await dataSource.query('ANALYZE audit');
});
afterAll(() => close());

interface PlanNode {
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** How many rows were looked at in vain. */
async function inVain(filter: AuditFilter): Promise<number> {
  const [sql, parameters] = auditQuery(dataSource.manager, filter, { limit: 51 }).getQueryAndParameters();
  const [row] = (await dataSource.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, parameters)) as [{ 'QUERY PLAN': [{ Plan: PlanNode }] }];
  const sum = (node: PlanNode): number =>
    (node['Rows Removed by Filter'] ?? 0) + (node.Plans ?? []).reduce((all, each) => all + sum(each), 0);
  return sum(row['QUERY PLAN'][0].Plan);
}

test.each<[string, AuditFilter]>([
  ['until far back', { until: hour(100) }],
  ['until in the middle', { until: hour(2_400) }],
  ['from far back to a little later', { since: hour(100), until: hour(110) }],
  ['since just now', { since: hour(ROWS - 5) }],
  ['before everything', { until: hour(-5) }],
  ['after everything', { since: hour(ROWS + 48) }],
])('%s few rows are looked at in vain, however many there are', async (_what, filter) => {
  // A day on either side.
  expect(await inVain(filter)).toBeLessThanOrEqual(2 * A_DAY + 10);
});

test.each<[AuditFilter, (at: number, i: number) => boolean]>([
  [{ until: hour(100) }, (at) => at < hour(100).getTime()],
  [{ since: hour(4_700) }, (at) => at >= hour(4_700).getTime()],
  [{ since: hour(100), until: hour(140) }, (at) => at >= hour(100).getTime() && at < hour(140).getTime()],
  [
    { since: hour(100), until: hour(140), merchantId: 'm1' },
    (at, i) => at >= hour(100).getTime() && at < hour(140).getTime() && i % 3 === 1,
  ],
  [{ until: hour(-1) }, (at) => at < hour(-1).getTime()],
])('%j has every row of the time, in the order of the chain', async (filter, isWanted) => {
  const timeOf = (i: number) => hour(i % 10 === 9 ? i - 3 : i).getTime();
  const wanted = Array.from({ length: ROWS }, (_, i) => ROWS - 1 - i).filter((i) => isWanted(timeOf(i), i));
  const found = await new AuditRepository(dataSource).list(filter, { limit: ROWS });
  expect(found.map(({ seq }) => Number(seq) - 1)).toEqual(wanted);
});
