import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The content of a new row as the chain hashes it: the same text as ever, so that the hashes of all rows stay what they are. */
const CONTENT = `convert_to(jsonb_build_array(
          NEW.seq, (extract(epoch FROM NEW.at) * 1000000)::bigint, NEW.actor, NEW.request_id, NEW.action,
          NEW.merchant_id, NEW.rule_id, NEW.reason, NEW.before, NEW.after)::text, 'UTF8')`;

/**
 * Writes the head of the audit's chain once for each statement instead of once for each row. A row that is updated n times in one transaction has n
 * versions, and each update looks at all of them: 100,000 audit rows in one transaction cost 5,000,000,000 looks.
 */
export class AuditByStatement1795408000000 implements MigrationInterface {
  readonly name = 'AuditByStatement1795408000000';

  async up(runner: QueryRunner): Promise<void> {
    // Writers wait meanwhile. If one of them takes longer, the migration is tried again.
    await runner.query(`SET LOCAL lock_timeout = '3s'`);
    // Writers take turns from here until their transactions end, as before.
    await runner.query(`
      CREATE FUNCTION audit_open_chain() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
      BEGIN
        PERFORM 1 FROM audit_head FOR UPDATE;
        IF NOT FOUND THEN RAISE EXCEPTION 'the head of the audit is missing'; END IF;
        RETURN NULL;
      END $$`);
    // While the head is locked nobody else draws an id, so the row before has the id before: if it stands behind the head it is of the same
    // statement, and otherwise the head is the row before. If somebody drew an id all the same, seq occurs twice and the statement fails.
    await runner.query(`
      CREATE OR REPLACE FUNCTION audit_continue_chain() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
      SET search_path FROM CURRENT SET enable_seqscan = off AS $$
      DECLARE last_seq bigint; last_hash bytea;
      BEGIN
        SELECT coalesce(a.seq, h.seq), coalesce(a.hash, h.hash) INTO STRICT last_seq, last_hash
        FROM audit_head h LEFT JOIN audit a ON a.id = NEW.id - 1 AND a.seq > h.seq;
        NEW.seq := last_seq + 1;
        NEW.hash := sha256(last_hash || ${CONTENT});
        RETURN NEW;
      END $$`);
    await runner.query(`
      CREATE FUNCTION audit_close_chain() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
      BEGIN
        UPDATE audit_head SET seq = last.seq, hash = last.hash FROM (SELECT seq, hash FROM added ORDER BY seq DESC LIMIT 1) last;
        RETURN NULL;
      END $$`);
    await runner.query('CREATE TRIGGER audit_open_chain BEFORE INSERT ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_open_chain()');
    await runner.query(
      `CREATE TRIGGER audit_close_chain AFTER INSERT ON audit REFERENCING NEW TABLE AS added
       FOR EACH STATEMENT EXECUTE FUNCTION audit_close_chain()`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`SET LOCAL lock_timeout = '3s'`);
    await runner.query('DROP TRIGGER audit_close_chain ON audit');
    await runner.query('DROP TRIGGER audit_open_chain ON audit');
    await runner.query('DROP FUNCTION audit_close_chain()');
    await runner.query('DROP FUNCTION audit_open_chain()');
    await runner.query(`
      CREATE OR REPLACE FUNCTION audit_continue_chain() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
      DECLARE head audit_head%ROWTYPE;
      BEGIN
        SELECT * INTO STRICT head FROM audit_head FOR UPDATE;
        NEW.seq := head.seq + 1;
        NEW.hash := sha256(head.hash || ${CONTENT});
        UPDATE audit_head SET seq = NEW.seq, hash = NEW.hash;
        RETURN NEW;
      END $$`);
  }
}
