import { type DataSource } from 'typeorm';
import { type DefaultRulesSnapshot, type MerchantSnapshot, type Rule } from '#limiter';

const RULE_COLUMNS = `r.id AS rule_id, r.name, r.layer, r.priority, r.enabled, r.mode, r.match, r.key, r.limits, r.cost, r.on_store_failure, r.penalty`;

/** One merchant with one of its enabled rules, or with nulls where it has none. */
interface Row extends Omit<Rule, 'id' | 'onStoreFailure'> {
  readonly merchant_id: string;
  readonly rules_version: string;
  readonly exists: boolean;
  readonly time_zone: string;
  readonly rule_id: string | null;
  readonly on_store_failure: Rule['onStoreFailure'];
}

/**
 * What the preloader and the gateway read: snapshots with the enabled rules. Version and rules of a snapshot come from
 * one statement, so they belong together whatever is written meanwhile. Rows go past the entities: a full preload reads
 * millions of them.
 */
export class RuleReader {
  constructor(private readonly dataSource: DataSource) {}

  /** Null for a merchant that never existed; `exists: false` for one that was deleted. */
  async snapshot(merchantId: string): Promise<MerchantSnapshot | null> {
    const rows = await this.query<Row>(
      `WITH m AS (
         SELECT id AS merchant_id, rules_version, true AS exists, time_zone FROM merchant WHERE id = $1
         UNION ALL
         SELECT merchant_id, rules_version, false, 'Etc/UTC' FROM deleted_merchant WHERE merchant_id = $1
       )
       SELECT m.merchant_id, m.rules_version, m.exists, m.time_zone, ${RULE_COLUMNS}
       FROM m LEFT JOIN rule r ON r.merchant_id = m.merchant_id AND r.enabled
       ORDER BY m.exists DESC`,
      [merchantId],
    );
    return toSnapshots(rows)[0] ?? null;
  }

  /** The first `count` merchants whose ids come after `afterMerchantId` (null: from the beginning), by id. */
  async snapshotsAfter(afterMerchantId: string | null, count: number): Promise<MerchantSnapshot[]> {
    const rows = await this.query<Row>(
      `WITH m AS (
         SELECT id AS merchant_id, rules_version, true AS exists, time_zone FROM merchant
         WHERE $1::text IS NULL OR id > $1 ORDER BY id LIMIT $2
       )
       SELECT m.merchant_id, m.rules_version, m.exists, m.time_zone, ${RULE_COLUMNS}
       FROM m LEFT JOIN rule r ON r.merchant_id = m.merchant_id AND r.enabled
       ORDER BY m.merchant_id`,
      [afterMerchantId, count],
    );
    return toSnapshots(rows);
  }

  /** How many merchants there are now. */
  async merchantCount(): Promise<number> {
    const [row] = await this.query<{ count: number }>('SELECT count(*)::int AS count FROM merchant');
    return row?.count ?? 0;
  }

  async defaultRules(): Promise<DefaultRulesSnapshot> {
    const rows = await this.query<Row>(
      `SELECT '' AS merchant_id, v.version AS rules_version, true AS exists, 'Etc/UTC' AS time_zone, ${RULE_COLUMNS}
       FROM default_rules_version v LEFT JOIN rule r ON r.merchant_id IS NULL AND r.enabled`,
    );
    const [snapshot] = toSnapshots(rows);
    return { version: snapshot?.version ?? 0, rules: snapshot?.rules ?? [] };
  }

  private async query<T>(sql: string, parameters: unknown[] = []): Promise<T[]> {
    return this.dataSource.query(sql, parameters);
  }
}

/** Rows of one merchant stand together. */
function toSnapshots(rows: readonly Row[]): MerchantSnapshot[] {
  const snapshots: (MerchantSnapshot & { rules: Rule[] })[] = [];
  for (const row of rows) {
    let snapshot = snapshots.at(-1);
    if (snapshot?.merchantId !== row.merchant_id) {
      snapshot = { merchantId: row.merchant_id, version: Number(row.rules_version), exists: row.exists, timeZone: row.time_zone, rules: [] };
      snapshots.push(snapshot);
    }
    if (row.rule_id !== null) snapshot.rules.push(toRule(row, row.rule_id));
  }
  return snapshots;
}

function toRule(row: Row, id: string): Rule {
  const { name, layer, priority, enabled, mode, match, key, limits, cost, penalty } = row;
  const rule = { id, name, layer, priority, enabled, mode, match, key, limits, cost, onStoreFailure: row.on_store_failure };
  // With millions of snapshots each byte counts, and hardly a rule has one.
  return penalty ? { ...rule, penalty } : rule;
}
