import type { DataSource, EntityManager, SelectQueryBuilder } from 'typeorm';
import type { SwitchName } from '#limiter';
import { AuditEntity } from './audit.entity.js';
import type { Change } from './change.js';
import { recordChange } from './change-log.js';
import { ownerColumns, type RuleOwner } from './rule-owner.js';
import { type MerchantReach, withinReach } from './merchant-reach.js';

/** Which rows of the audit. What is not given says nothing. */
export interface AuditFilter {
  readonly actor?: string | undefined;
  /** Null: the default rules. */
  readonly merchantId?: string | null | undefined;
  /** Changes of this plan and its rules; null: none of any plan. */
  readonly plan?: string | null | undefined;
  /** Null: the merchant itself, with the overrides of rules that it has, or the plan itself. */
  readonly ruleId?: string | null | undefined;
  /** Only what was written of rules themselves, and not what was done to them for a merchant. */
  readonly ofRuleItself?: boolean | undefined;
  /** Changes of this token. */
  readonly tokenId?: string | undefined;
  /** Changes of this switch. */
  readonly switchName?: SwitchName | undefined;
  /** Only these merchants; null: all. */
  readonly among?: MerchantReach | undefined;
  /** From this moment on. */
  readonly since?: Date | undefined;
  /** Before this moment. */
  readonly until?: Date | undefined;
}

/**
 * Of two rows of the chain the later one may have the earlier time: its transaction began first, or a clock was set back. Nobody looks for a row of a time
 * further from it in the chain than where times are a day off.
 */
const MOST_DISORDER = `interval '1 day'`;

/** At most `limit` rows of the audit, the newest first, from the first one before the place `before` in the chain. */
export function auditQuery(
  manager: EntityManager,
  filter: AuditFilter,
  { before, limit }: { before?: string | undefined; limit: number },
): SelectQueryBuilder<AuditEntity> {
  const query = manager.createQueryBuilder(AuditEntity, 'audit');
  restrict(query, filter);
  if (before !== undefined) query.andWhere('audit.seq < :before', { before });
  return query.orderBy('audit.seq', 'DESC').limit(limit);
}

/** Reads the audit, the newest row first, and writes down what is done elsewhere. Rows are written by `recordChange` in the transaction of their change, and stay for ever. */
export class AuditRepository {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Writes a row about what `work` does outside of the database, and commits it when that has succeeded. If `work` rejects, no row stays; if the
   * commit fails, it was done and is not written down, and the error says that the database is gone.
   */
  async recordWith<T>(change: Omit<Change, 'version'>, work: () => Promise<T>): Promise<T> {
    return this.dataSource.transaction(async (manager) => {
      await recordChange(manager, change);
      return work();
    });
  }

  /** At most `limit` rows from the first one before `before`, which is a place in the chain. */
  async list(filter: AuditFilter, { before, limit }: { before?: string | undefined; limit: number }): Promise<AuditEntity[]> {
    return auditQuery(this.dataSource.manager, filter, { before, limit }).getMany();
  }

  /** The last change of a rule; null if the audit knows nothing of it. */
  async lastOfRule(owner: RuleOwner, ruleId: string): Promise<AuditEntity | null> {
    const query = this.dataSource.manager.createQueryBuilder(AuditEntity, 'audit');
    restrict(query, { ...ownerColumns(owner), ruleId });
    return query.andWhere(`audit.action LIKE 'rule.%'`).orderBy('audit.seq', 'DESC').limit(1).getOne();
  }

  /** What a rule was at a version; null if the audit knows nothing of it. */
  async ruleAt(owner: RuleOwner, ruleId: string, version: number): Promise<object | null> {
    const query = this.dataSource.manager.createQueryBuilder(AuditEntity, 'audit');
    restrict(query, { ...ownerColumns(owner), ruleId });
    const row = await query
      .andWhere(`audit.after ->> 'version' = :version`, { version: String(version) })
      .orderBy('audit.seq', 'DESC')
      .getOne();
    return row?.after ?? null;
  }

  /** What was written of a plan at a version, without its rules; null if the audit knows nothing of it. */
  async planAt(plan: string, version: number): Promise<object | null> {
    return this.ownerAt({ plan }, 'plan.%', version);
  }

  /** What was written of a merchant at a version, without its rules; null if the audit knows nothing of it. */
  async merchantAt(merchantId: string, version: number): Promise<object | null> {
    return this.ownerAt({ merchantId }, 'merchant.%', version);
  }

  private async ownerAt(owner: Pick<AuditFilter, 'plan' | 'merchantId'>, actions: string, version: number): Promise<object | null> {
    const query = this.dataSource.manager.createQueryBuilder(AuditEntity, 'audit');
    restrict(query, { ...owner, ruleId: null });
    const row = await query
      .andWhere(`audit.action LIKE :actions AND audit.after ->> 'version' = :version`, { actions, version: String(version) })
      .orderBy('audit.seq', 'DESC')
      .getOne();
    return row?.after ?? null;
  }
}

/** The largest number that a place may have. */
const LAST_PLACE = '9223372036854775807';

/** Of a merchant, too, `plan` is written. */
const PLAN = `coalesce(audit.after, audit.before) ->> 'plan'`;

function restrict(
  query: SelectQueryBuilder<AuditEntity>,
  { actor, merchantId, plan, ruleId, ofRuleItself = false, tokenId, switchName, among, since, until }: AuditFilter,
): void {
  if (actor !== undefined) query.andWhere('audit.actor = :actor', { actor });
  if (merchantId !== undefined)
    query.andWhere(merchantId === null ? 'audit.merchantId IS NULL' : 'audit.merchantId = :merchantId', { merchantId });
  if (plan) query.andWhere(`audit.merchantId IS NULL AND ${PLAN} = :plan`, { plan });
  else if (plan === null && merchantId === null) query.andWhere(`${PLAN} IS NULL`);
  const within = withinReach('audit.merchantId', among);
  if (within) query.andWhere(within.condition, within.parameters);
  if (ruleId !== undefined)
    query.andWhere(ruleId === null ? `(audit.ruleId IS NULL OR audit.action LIKE 'override.%')` : 'audit.ruleId = :ruleId', { ruleId });
  // The first condition of either is that of its index.
  if (switchName !== undefined)
    query.andWhere(`audit.action LIKE 'switch.%' AND coalesce(audit.after, audit.before) ->> 'name' = :switchName`, { switchName });
  if (tokenId !== undefined)
    query.andWhere(`audit.action LIKE 'token.%' AND coalesce(audit.after, audit.before) ->> 'id' = :tokenId`, { tokenId });
  if (ofRuleItself) query.andWhere(`audit.action LIKE 'rule.%'`);
  if (since !== undefined)
    query.andWhere(
      `audit.at >= :since AND audit.seq >= coalesce(
        (SELECT a.seq FROM audit a WHERE a.at < CAST(:since AS timestamptz) - ${MOST_DISORDER} ORDER BY a.at DESC, a.seq DESC LIMIT 1), 0)`,
      { since },
    );
  if (until !== undefined)
    query.andWhere(
      `audit.at < :until AND audit.seq <= coalesce(
        (SELECT a.seq FROM audit a WHERE a.at >= CAST(:until AS timestamptz) + ${MOST_DISORDER} ORDER BY a.at, a.seq LIMIT 1), ${LAST_PLACE})`,
      { until },
    );
}
