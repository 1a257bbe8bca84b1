/** What the benchmark of the Rules API stands on: a database full of merchants with three rules each, made by PostgreSQL itself. */
import pg from 'pg';
import { createDataSource, migrate } from '#rules-db';
import { ruleOf } from './merchants.mjs';

export const RULES_OF_A_MERCHANT = 3;
/** The plan of a tenth of the merchants. */
export const PLAN = 'pro';

/** The ids of merchants in the database, in the order of their numbers. */
const ID = "'m' || lpad(i::text, 12, '0')";

/**
 * Fills an empty database. One merchant in a thousand has the label tier=gold, and a quarter each one of four regions.
 * @param {string} url
 * @param {number} merchants
 */
export async function fillWithRules(url, merchants) {
  const dataSource = await createDataSource(url).initialize();
  await migrate(dataSource);
  await dataSource.destroy();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`INSERT INTO plan (name, version, rules_version) VALUES ('${PLAN}', 1, 1)`);
    await client.query(
      `INSERT INTO merchant (id, name, time_zone, version, rules_version, plan, labels)
       SELECT ${ID}, 'Merchant ' || i, 'Europe/Berlin', 1, 1, CASE WHEN i % 10 = 0 THEN '${PLAN}' END,
         jsonb_build_object('region', (ARRAY['eu', 'us', 'ap', 'sa'])[i % 4 + 1])
           || CASE WHEN i % 1000 = 0 THEN '{"tier":"gold"}'::jsonb ELSE '{}'::jsonb END
       FROM generate_series(0, $1::int - 1) AS i`,
      [merchants],
    );
    const { layer, priority, mode, match, key, limits, cost, onStoreFailure } = ruleOf(0);
    await client.query(
      `INSERT INTO rule (merchant_id, name, layer, priority, enabled, mode, match, key, limits, cost, on_store_failure, version, labels)
       SELECT ${ID}, 'rule ' || n, $3, $4::int + n, true, $5, $6, $7, $8, $9, $10, 1,
         CASE WHEN i % 1000 = 0 AND n = 1 THEN '{"team":"risk"}'::jsonb ELSE '{}'::jsonb END
       FROM generate_series(0, $1::int - 1) AS i, generate_series(1, $2::int) AS n`,
      [
        merchants,
        RULES_OF_A_MERCHANT,
        layer,
        priority,
        mode,
        JSON.stringify(match),
        JSON.stringify(key),
        JSON.stringify(limits),
        cost,
        onStoreFailure,
      ],
    );
    await client.query('VACUUM ANALYZE');
  } finally {
    await client.end();
  }
}
