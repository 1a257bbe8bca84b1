import type { DataSource } from 'typeorm';
import {
  type DefaultRulesSnapshot,
  MOST_SWITCHES,
  type MerchantSnapshot,
  type PlanSnapshot,
  startLimits,
  storedSwitches,
  type Switch,
} from '#limiter';
import { isReadable, merchantIn, type MerchantRow, planNameAt, rulesIn } from './merchant-in-rows.js';
import { type MerchantRows, MerchantWalk } from './merchant-walk.js';
import { overridesOf } from './override-column.js';
import { PLAN_RULE_COLUMNS, RULE_COLUMNS, type RuleRow } from './rule-columns.js';
import { storedVersion } from './stored-row.js';

/** One plan with one of its enabled rules. */
interface PlanRow extends RuleRow {
  readonly plan_name: string;
  readonly rules_version: string;
  readonly exists: boolean;
}

/** No merchant and no plan has an empty name. */
const NOBODY = '';
const REHEARSED_READS = 3;
/** As often as V8 has to see code before it compiles it well enough. */
const REHEARSED_ROWS = 30;

/** As the driver makes it of a row. */
const ROW_OF_NOBODY: MerchantRow = {
  merchant_id: 'rehearsal',
  rules_version: '1',
  exists: true,
  time_zone: 'Europe/Berlin',
  plan: null,
  rule_id: '1',
  name: 'rehearsal',
  layer: 'merchant',
  priority: 1,
  enabled: true,
  mode: 'enforce',
  match: { methods: ['POST'], paths: ['/rehearsal/**'] },
  key: ['merchant'],
  limits: startLimits(
    [{ name: 'rehearsal', algorithm: 'token_bucket', capacity: 1, refillTokens: 1, refillIntervalMs: 1000, refill: 'greedy' }],
    0,
  ),
  cost: 1,
  cost_of_field: null,
  penalty: null,
  on_store_failure: 'local',
  valid_from: null,
  valid_to: null,
  schedule: null,
  language: 1,
  charge: null,
  on_unreadable_body: null,
  on_limit: null,
  reserve: null,
  consistency: null,
};

/**
 * Reads snapshots, that is versions with their enabled rules, for the preloader and the gateway. Version and rules of a snapshot come
 * from one statement, so they belong together whatever is written meanwhile. Entities are not used, because a full preload reads
 * millions of rows. Rows are parsed as input from outside: somebody may have edited them by hand, and every gateway believes what is
 * in Redis. All methods reject with the driver's error if PostgreSQL does not answer (see `isDatabaseUnavailable`).
 */
export class RuleReader {
  private readonly walk: MerchantWalk;

  constructor(private readonly dataSource: DataSource) {
    this.walk = new MerchantWalk(dataSource);
  }

  /** The snapshot of a merchant; `exists` is false if it was deleted. Null if it never existed. @throws UnreadableError */
  async snapshot(merchantId: string): Promise<MerchantSnapshot | null> {
    if (!(await this.everExisted(merchantId))) return null;
    const merchant = merchantIn(await this.rowsOf(merchantId));
    if (merchant === undefined) return null;
    if (!isReadable(merchant)) throw merchant.unreadable;
    return merchant;
  }

  /**
   * What `make` makes of the first `count` merchants after `afterMerchantId` (null: from the beginning), sorted by id. Merchants that cannot be parsed
   * stand among the others.
   */
  merchantsAfter<T>(afterMerchantId: string | null, count: number, make: (merchant: MerchantRows) => T): Promise<T[]> {
    return this.walk.after(afterMerchantId, count, make);
  }

  /** The number of merchants. */
  async merchantCount(): Promise<number> {
    const [row] = await this.query<{ count: number }>('SELECT count(*)::int AS count FROM merchant');
    return row?.count ?? 0;
  }

  /** The snapshot of the default rules. @throws UnreadableError */
  async defaultRules(): Promise<DefaultRulesSnapshot> {
    const rows = await this.query<MerchantRow>(
      `SELECT 'default rules' AS merchant_id, v.version AS rules_version, true AS exists, 'Etc/UTC' AS time_zone,
         NULL AS plan, ${RULE_COLUMNS}
       FROM default_rules_version v LEFT JOIN rule r ON r.merchant_id IS NULL AND r.plan IS NULL AND r.enabled`,
    );
    const defaults = merchantIn(rows);
    if (defaults === undefined) return { version: 0, rules: [] };
    if (!isReadable(defaults)) throw defaults.unreadable;
    const { version, rules, newerRules } = defaults;
    const switches = await this.switches();
    return { version, rules, ...(newerRules && { newerRules }), ...(switches.length > 0 && { switches }) };
  }

  /**
   * What is switched on. Read after the version of the default rules, which every change of a switch raises: a change that comes between is told too early,
   * and told again with its own version. @throws UnreadableError
   */
  async switches(): Promise<Switch[]> {
    const rows = await this.query<
      { readonly [column in 'name' | 'layer' | 'merchant_id']: string | null } & { readonly until_at: Date | null }
    >('SELECT name, layer, merchant_id, until_at FROM switch ORDER BY id LIMIT $1', [MOST_SWITCHES]);
    return storedSwitches(
      rows.map(({ name, layer, merchant_id: merchantId, until_at: until }) => ({
        name,
        layer,
        merchantId,
        untilMs: until?.getTime() ?? null,
      })),
    );
  }

  /** The snapshot of a plan; `exists` is false if it was deleted. Null if it never existed. @throws UnreadableError */
  async plan(name: string): Promise<PlanSnapshot | null> {
    const rows = await this.query<PlanRow>(
      `WITH p AS (
         SELECT name AS plan_name, rules_version, true AS exists FROM plan WHERE name = $1
         UNION ALL
         SELECT plan, rules_version, false FROM deleted_plan WHERE plan = $1
       )
       SELECT p.plan_name, p.rules_version, p.exists, ${PLAN_RULE_COLUMNS}
       FROM p LEFT JOIN rule r ON r.plan = p.plan_name AND r.plan_enabled
       ORDER BY p.exists DESC`,
      [name],
    );
    const [first] = rows;
    return first === undefined
      ? null
      : planIn(
          first,
          rows.filter(({ exists }) => exists === first.exists),
        );
  }

  /**
   * Reads as `snapshot`, `defaultRules` and `plan` do, on so many connections at once, and finds nobody. A connection that has never planned a statement
   * takes several times as long for it, and so does code that has never run.
   */
  async rehearse(connections: number): Promise<void> {
    for (let turn = 0; turn < REHEARSED_READS; turn++) {
      await Promise.all(Array.from({ length: connections }, () => this.everExisted(NOBODY).then(() => this.rowsOf(NOBODY))));
      await Promise.all(Array.from({ length: connections }, () => this.defaultRules()));
      await Promise.all(Array.from({ length: connections }, () => this.plan(NOBODY)));
    }
    for (let turn = 0; turn < REHEARSED_ROWS; turn++) {
      const nobody = merchantIn([ROW_OF_NOBODY])!;
      if (!isReadable(nobody)) throw nobody.unreadable;
    }
  }

  /** The names of all plans. */
  async planNames(): Promise<string[]> {
    return (await this.query<{ name: string }>('SELECT name FROM plan ORDER BY name')).map(({ name }) => name);
  }

  /** Asked first, because a flood of ids that nobody created asks for little else, and this costs less than half of what the rules do. */
  private async everExisted(merchantId: string): Promise<boolean> {
    const [row] = await this.query<{ existed: boolean }>(
      `SELECT EXISTS (SELECT FROM merchant WHERE id = $1) OR EXISTS (SELECT FROM deleted_merchant WHERE merchant_id = $1) AS existed`,
      [merchantId],
    );
    return row?.existed === true;
  }

  private rowsOf(merchantId: string): Promise<MerchantRow[]> {
    return this.query<MerchantRow>(
      `WITH m AS (
         SELECT id AS merchant_id, rules_version, true AS exists, time_zone, plan, ${overridesOf('$1')} FROM merchant WHERE id = $1
         UNION ALL
         SELECT merchant_id, rules_version, false, 'Etc/UTC', NULL, ${overridesOf('$1')} FROM deleted_merchant WHERE merchant_id = $1
       )
       SELECT m.merchant_id, m.rules_version, m.exists, m.time_zone, m.plan, m.overrides, ${RULE_COLUMNS}
       FROM m LEFT JOIN rule r ON r.merchant_id = m.merchant_id AND r.enabled
       ORDER BY m.exists DESC`,
      [merchantId],
    );
  }

  private async query<T>(sql: string, parameters: unknown[] = []): Promise<T[]> {
    return this.dataSource.query(sql, parameters);
  }
}

/** @throws UnreadableError */
function planIn({ plan_name: plan, exists, rules_version: version }: PlanRow, rows: readonly PlanRow[]): PlanSnapshot {
  return { plan: planNameAt(plan, 'plan.name'), version: storedVersion(version, 'plan.rules_version'), exists, ...rulesIn(rows) };
}
