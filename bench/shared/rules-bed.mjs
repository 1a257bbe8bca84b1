/** What the benchmark of the Rules API stands on: a database full of merchants with three rules each, made by PostgreSQL itself. */
import pg from 'pg';
import { createDataSource, migrate } from '#rules-db';
import { merchantId, ruleOf } from './merchants.mjs';

export const RULES_OF_A_MERCHANT = 3;
/** The plan of a tenth of the merchants. */
export const PLAN = 'pro';
/** The path that the plan's rule limits. */
export const SHARED_PATH = '/shared/7';
/** What every rule lets pass at once. */
export const QUOTA = 1000;

/** The ids of the merchants that have the plan. @param {number} merchants */
export const ofPlan = (merchants) => Array.from({ length: Math.ceil(merchants / 10) }, (_, i) => merchantId(i * 10));

/** Common ones, rare ones, such that find nothing, and such that find many merchants at the end of the list only. */
export const SEARCHES = [
  'name=merchant%2077',
  'name=branch',
  'name=nobody',
  'label=tier%3Dgold',
  'label=region%3Deu',
  'label=opened%3Dlate',
  'label=no%3Dsuch',
  `plan=${PLAN}`,
  `plan=${PLAN}&label=tier%3Dgold`,
  'name=branch&label=opened%3Dlate',
  `plan=${PLAN}&label=opened%3Dlate`,
];

/** Of the rules of one merchant. */
export const RULE_SEARCHES = ['path=%2Ftransactions%2F7', 'label=team%3Drisk', 'algorithm=token_bucket', 'enabled=true'];

/** The ids of merchants in the database, in the order of their numbers. */
const ID = "'m' || lpad(i::text, 12, '0')";

/**
 * Fills an empty database. One merchant in a thousand has the label tier=gold, and a quarter each one of four regions. The last tenth of the
 * merchants are named Branch, and have the label opened=late.
 * @param {string} url
 * @param {number} merchants
 */
export async function fillWithRules(url, merchants) {
  const dataSource = await createDataSource(url).initialize();
  await migrate(dataSource);
  await dataSource.destroy();
  await asOwner(url, async (client) => {
    await client.query(`INSERT INTO plan (name, version, rules_version) VALUES ('${PLAN}', 1, 1)`);
    await client.query(
      `INSERT INTO merchant (id, name, time_zone, version, rules_version, plan, labels)
       SELECT ${ID}, CASE WHEN i >= $1::int * 0.9 THEN 'Branch ' ELSE 'Merchant ' END || i, 'Europe/Berlin', 1, 1,
         CASE WHEN i % 10 = 0 THEN '${PLAN}' END,
         jsonb_build_object('region', (ARRAY['eu', 'us', 'ap', 'sa'])[i % 4 + 1])
           || CASE WHEN i % 1000 = 0 THEN '{"tier":"gold"}'::jsonb ELSE '{}'::jsonb END
           || CASE WHEN i >= $1::int * 0.9 THEN '{"opened":"late"}'::jsonb ELSE '{}'::jsonb END
       FROM generate_series(0, $1::int - 1) AS i`,
      [merchants],
    );
    // What a trigger would do.
    await client.query(
      'INSERT INTO merchant_label (key, value, merchant_id) SELECT key, value, id FROM merchant, jsonb_each_text(labels) ORDER BY 1, 2, 3',
    );
    await client.query(
      `INSERT INTO rule (merchant_id, name, ${RULE_COLUMNS}, enabled, version, labels)
       SELECT ${ID}, 'rule ' || n, $3, $4::int + n, $5, $6, $7, $8, $9, $10, true, 1,
         CASE WHEN i % 1000 = 0 AND n = 1 THEN '{"team":"risk"}'::jsonb ELSE '{}'::jsonb END
       FROM generate_series(0, $1::int - 1) AS i, generate_series(1, $2::int) AS n`,
      [merchants, RULES_OF_A_MERCHANT, ...ruleValues()],
    );
    await client.query(
      `INSERT INTO rule (plan, name, plan_enabled, ${RULE_COLUMNS}, enabled, version)
       VALUES ($1, 'shared', true, $2, $3, $4, $5, $6, $7, $8, $9, false, 1)`,
      [PLAN, ...ruleValues({ methods: [], paths: ['/shared/**'] })],
    );
    await client.query('VACUUM ANALYZE');
  });
}

const RULE_COLUMNS = 'layer, priority, mode, match, key, limits, cost, on_store_failure';

/** The values of these columns. @param {object} [matched] */
function ruleValues(matched) {
  const { layer, priority, mode, match, key, limits, cost, onStoreFailure } = ruleOf(0);
  return [layer, priority, mode, ...[matched ?? match, key, limits].map((value) => JSON.stringify(value)), cost, onStoreFailure];
}

/** Fills the tables as the first migration makes them. @param {string} url @param {number} merchants */
export async function fillFirstSchema(url, merchants) {
  await asOwner(url, async (client) => {
    await client.query(
      `INSERT INTO merchant (id, name, time_zone, version, rules_version)
       SELECT ${ID}, 'Merchant ' || i, 'Europe/Berlin', 1, 1 FROM generate_series(0, $1::int - 1) AS i`,
      [merchants],
    );
    await client.query(
      `INSERT INTO rule (merchant_id, name, ${RULE_COLUMNS}, enabled, version)
       SELECT ${ID}, 'rule ' || n, $3, $4::int + n, $5, $6, $7, $8, $9, $10, true, 1
       FROM generate_series(0, $1::int - 1) AS i, generate_series(1, $2::int) AS n`,
      [merchants, RULES_OF_A_MERCHANT, ...ruleValues()],
    );
    await client.query('VACUUM ANALYZE');
  });
}

/** Gives every merchant a label and every tenth one a plan, so that a revert has something to keep. @param {string} url */
export async function giveLabelsAndPlans(url) {
  await asOwner(url, async (client) => {
    await client.query(`INSERT INTO plan (name, version, rules_version) VALUES ('${PLAN}', 1, 1)`);
    await client.query(`UPDATE merchant SET labels = '{"region":"eu"}', plan = CASE WHEN right(id, 1) = '0' THEN '${PLAN}' END`);
    await client.query('VACUUM ANALYZE merchant');
  });
}

/** @param {string} url @param {(client: pg.Client) => Promise<void>} work */
async function asOwner(url, work) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    // What is made up here fits together: half of the time would go into looking up each rule's merchant.
    await client.query('SET session_replication_role = replica');
    await work(client);
  } finally {
    await client.end();
  }
}
