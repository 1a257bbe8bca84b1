import type { MigrationInterface, QueryRunner } from 'typeorm';
import { step } from './steps.js';

/** Merchants whose labels one transaction copies: they cannot be changed meanwhile. */
const FILLED_AT_ONCE = 1_000;

/**
 * The labels of a merchant that can be searched for. Others can only have been written by hand; too long ones have no place in an index.
 * @param merchant what has the columns `id` and `labels`
 */
const labelsOf = (merchant: string): string => `
  SELECT label.key, label.value #>> '{}' AS value, ${merchant}.id AS merchant_id FROM jsonb_each(${merchant}.labels) label
  WHERE jsonb_typeof(label.value) = 'string' AND octet_length(${merchant}.id || label.key || (label.value #>> '{}')) <= 2000`;

/**
 * Adds the table of merchants by label, which has the merchants of each label in the order of the list. The index of labels has them in no order: a search for
 * a label that 100,000 merchants share had to fetch and sort all of them to find a page. Triggers keep the table, so that it is also right about what
 * a Rules API of the version before writes, or somebody by hand.
 */
export class MerchantLabelTable1799400000000 implements MigrationInterface {
  readonly name = 'MerchantLabelTable1799400000000';
  readonly transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    await step(runner, () =>
      runner.query(`
        CREATE TABLE IF NOT EXISTS merchant_label (
          key text COLLATE "C" NOT NULL,
          value text COLLATE "C" NOT NULL,
          merchant_id text COLLATE "C" NOT NULL,
          CONSTRAINT merchant_label_pkey PRIMARY KEY (key, value, merchant_id)
        )`),
    );
    // From here on whatever is written is in the table: only what stood before has to be copied.
    await step(runner, () => addTriggers(runner));
    await fill(runner);
  }

  /** Drops the table, because all of it also stands in the column. What is written until the next migration is only there. */
  async down(runner: QueryRunner): Promise<void> {
    await step(runner, async () => {
      for (const trigger of TRIGGERS) await runner.query(`DROP TRIGGER IF EXISTS ${trigger.name} ON merchant`);
      await runner.query('DROP FUNCTION IF EXISTS merchant_keep_labels()');
    });
    await step(runner, () => runner.query('DROP TABLE IF EXISTS merchant_label'));
  }
}

/** The row of a merchant is written with each change of its rules: only another label concerns the table. */
const TRIGGERS = [
  { name: 'merchant_keep_new_labels', on: 'INSERT', when: `NEW.labels <> '{}'` },
  { name: 'merchant_keep_labels', on: 'UPDATE OF id, labels', when: 'OLD.labels <> NEW.labels OR OLD.id <> NEW.id' },
  { name: 'merchant_keep_no_labels', on: 'DELETE', when: `OLD.labels <> '{}'` },
];

async function addTriggers(runner: QueryRunner): Promise<void> {
  // Whoever may write merchants need not have rights on the table. One row after the other is deleted by its key, whatever the planner believes of a new table.
  await runner.query(`
    CREATE OR REPLACE FUNCTION merchant_keep_labels() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT SET enable_seqscan = off AS $$
    DECLARE gone record;
    BEGIN
      IF TG_OP <> 'INSERT' THEN
        FOR gone IN ${labelsOf('OLD')} LOOP
          DELETE FROM merchant_label WHERE key = gone.key AND value = gone.value AND merchant_id = gone.merchant_id;
        END LOOP;
      END IF;
      IF TG_OP <> 'DELETE' THEN
        INSERT INTO merchant_label (key, value, merchant_id) ${labelsOf('NEW')} ON CONFLICT DO NOTHING;
      END IF;
      RETURN NULL;
    END $$`);
  for (const { name, on, when } of TRIGGERS) {
    await runner.query(`DROP TRIGGER IF EXISTS ${name} ON merchant`);
    await runner.query(
      `CREATE TRIGGER ${name} AFTER ${on} ON merchant FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION merchant_keep_labels()`,
    );
  }
}

/** Copies the labels that stood before. A label that is taken off a merchant meanwhile waits until it has been copied, so that it is deleted here too. */
async function fill(runner: QueryRunner): Promise<void> {
  for (let after: string | null = null; ;) {
    const [row] = (await runner.query(
      'SELECT max(id) AS last FROM (SELECT id FROM merchant WHERE $1::text IS NULL OR id > $1 ORDER BY id LIMIT $2) next',
      [after, FILLED_AT_ONCE],
    )) as [{ last: string | null }];
    const { last } = row;
    if (last === null) return;
    await step(runner, () =>
      runner.query(
        `WITH labelled AS MATERIALIZED (
           SELECT id, labels FROM merchant WHERE ($1::text IS NULL OR id > $1) AND id <= $2 AND labels <> '{}' ORDER BY id FOR SHARE
         )
         INSERT INTO merchant_label (key, value, merchant_id)
         SELECT label.* FROM labelled, LATERAL (${labelsOf('labelled')}) label ON CONFLICT DO NOTHING`,
        [after, last],
      ),
    );
    after = last;
  }
}
