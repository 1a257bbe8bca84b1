import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumn, archiveColumn, archiveTables, restoreTables } from './archive.js';
import { boundLocks } from './steps.js';

const COLUMNS = [
  ['reason', 'text'],
  ['seq', 'bigint'],
  ['hash', 'bytea'],
] as const;

/**
 * Makes the audit append-only and tamper-evident: each row carries its place in one chain, and a SHA-256 over the hash of the row
 * before it and its own content. A trigger does it, so that whoever inserts a row, an older version of Tollgate included,
 * continues the chain, and cannot do so wrongly.
 */
export class AuditChain1795400000000 implements MigrationInterface {
  readonly name = 'AuditChain1795400000000';

  async up(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    for (const [column, definition] of COLUMNS) await addColumn(runner, 'audit', column, definition);
    if (!(await restoreTables(runner, ['audit_head']))) {
      await runner.query(`
        CREATE TABLE audit_head (
          only_row boolean NOT NULL DEFAULT true,
          seq bigint NOT NULL,
          hash bytea NOT NULL,
          CONSTRAINT audit_head_pkey PRIMARY KEY (only_row),
          CONSTRAINT audit_head_only_row CHECK (only_row)
        )`);
      await runner.query(`INSERT INTO audit_head (seq, hash) VALUES (0, '')`);
    }
    // With the rights of its owner, so that the role of the application needs none on audit_head. The row lock makes writers take turns
    // until their transactions end, and so the chain has no gaps. bigint and jsonb have one text each, whatever the session's settings.
    await runner.query(`
      CREATE FUNCTION audit_continue_chain() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
      DECLARE head audit_head%ROWTYPE;
      BEGIN
        SELECT * INTO STRICT head FROM audit_head FOR UPDATE;
        NEW.seq := head.seq + 1;
        NEW.hash := sha256(head.hash || convert_to(jsonb_build_array(
          NEW.seq, (extract(epoch FROM NEW.at) * 1000000)::bigint, NEW.actor, NEW.request_id, NEW.action,
          NEW.merchant_id, NEW.rule_id, NEW.reason, NEW.before, NEW.after)::text, 'UTF8'));
        UPDATE audit_head SET seq = NEW.seq, hash = NEW.hash;
        RETURN NEW;
      END $$`);
    await this.chainUnchained(runner);
    await runner.query('ALTER TABLE audit ALTER COLUMN seq SET NOT NULL, ALTER COLUMN hash SET NOT NULL');
    await runner.query('CREATE UNIQUE INDEX audit_by_seq ON audit (seq)');
    await runner.query('DROP INDEX audit_of_merchant');
    await runner.query('CREATE INDEX audit_of_merchant ON audit (merchant_id, seq)');
    await runner.query('CREATE INDEX audit_of_rule ON audit (rule_id, seq)');
    await runner.query('CREATE INDEX audit_of_actor ON audit (actor, seq)');
    await runner.query('CREATE TRIGGER audit_continue_chain BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION audit_continue_chain()');
    await runner.query(`
      CREATE FUNCTION audit_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'rows of the audit are neither changed nor deleted' USING ERRCODE = 'insufficient_privilege';
      END $$`);
    await runner.query(
      'CREATE TRIGGER audit_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change()',
    );
    await runner.query('REVOKE ALL ON audit_head FROM PUBLIC');
  }

  /** Rows of the time before the chain, in the order in which they were written. */
  private async chainUnchained(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DO $$
      DECLARE unchained audit%ROWTYPE; head audit_head%ROWTYPE;
      BEGIN
        SELECT * INTO STRICT head FROM audit_head;
        FOR unchained IN SELECT * FROM audit WHERE seq IS NULL ORDER BY id LOOP
          head.seq := head.seq + 1;
          head.hash := sha256(head.hash || convert_to(jsonb_build_array(
            head.seq, (extract(epoch FROM unchained.at) * 1000000)::bigint, unchained.actor, unchained.request_id, unchained.action,
            unchained.merchant_id, unchained.rule_id, unchained.reason, unchained.before, unchained.after)::text, 'UTF8'));
          UPDATE audit SET seq = head.seq, hash = head.hash WHERE id = unchained.id;
        END LOOP;
        UPDATE audit_head SET seq = head.seq, hash = head.hash;
      END $$`);
  }

  /** Keeps the chain: see archive.ts. */
  async down(runner: QueryRunner): Promise<void> {
    await boundLocks(runner);
    await runner.query('DROP TRIGGER audit_refuse_change ON audit');
    await runner.query('DROP TRIGGER audit_continue_chain ON audit');
    await runner.query('DROP FUNCTION audit_refuse_change()');
    await runner.query('DROP FUNCTION audit_continue_chain()');
    for (const index of ['audit_of_actor', 'audit_of_rule', 'audit_of_merchant', 'audit_by_seq']) await runner.query(`DROP INDEX ${index}`);
    await runner.query('CREATE INDEX audit_of_merchant ON audit (merchant_id, id)');
    // The version before writes rows without them.
    await runner.query('ALTER TABLE audit ALTER COLUMN seq DROP NOT NULL, ALTER COLUMN hash DROP NOT NULL');
    for (const [column] of COLUMNS) await archiveColumn(runner, 'audit', column);
    await archiveTables(runner, ['audit_head']);
  }
}
