import { DataSource, type EntityManager, type SelectQueryBuilder } from 'typeorm';
import { ApprovalEntity, type ApprovalState } from './approval.entity.js';
import type { AuditAction } from './audit.entity.js';
import type { Actor } from './change.js';
import { ApprovalNotFoundError, TooManyApprovalsError } from './errors.js';
import type { ProposedChange } from './protected-rule.js';
import { separateTransactions, type Transactions } from './transactions.js';
import { type MerchantReach, withinReach } from './merchant-reach.js';

/** More open approvals than that nobody looks at: somebody repeats himself. */
export const MAX_WANTED_APPROVALS = 1_000;

/** Approvals that are over are kept for so long; the audit keeps what they said. */
const KEPT = `interval '90 days'`;
/** So many old ones are deleted with each new one, so that they never pile up and no deletion is long. */
const DELETED_AT_ONCE = 20;

/** An approval, and what became of it by now. */
export interface Approval extends Omit<ApprovalEntity, 'state'> {
  readonly state: ApprovalState;
}

export interface ApprovalFilter {
  readonly state?: ApprovalState | undefined;
  /** Only of these merchants; null: all. */
  readonly among?: MerchantReach | undefined;
}

const HAS_EXPIRED = `approval.state = 'wanted' AND approval.expires_at <= clock_timestamp()`;

/** Changes that wait for a second administrator. Whether one has expired says the clock of PostgreSQL, which is one for all. */
export class ApprovalRepository {
  private readonly transactions: Transactions;

  /** @param database a transaction that the caller began, or the database: then each write is a transaction of its own */
  constructor(database: DataSource | Transactions) {
    this.transactions = database instanceof DataSource ? separateTransactions(database) : database;
  }

  /** Keeps a change until a second administrator decides. The same change gets the same approval again. @throws TooManyApprovalsError */
  async want(change: ProposedChange, by: Actor, expireAfterMs: number): Promise<Approval> {
    return this.transactions.run(async (manager, record) => {
      await deleteOld(manager);
      const same = await this.open(manager)
        .andWhere('approval.proposedBy = :name AND approval.change = :change::jsonb', { name: by.name, change: JSON.stringify(change) })
        .getOne();
      if (same) return { ...same };
      if ((await this.open(manager).getCount()) >= MAX_WANTED_APPROVALS) throw new TooManyApprovalsError(MAX_WANTED_APPROVALS);
      const { identifiers } = await manager.insert(ApprovalEntity, {
        state: 'wanted',
        merchantId: change.merchantId,
        change,
        proposedBy: by.name,
        reason: by.reason ?? null,
        expiresAt: () => `clock_timestamp() + interval '${Math.trunc(expireAfterMs)} milliseconds'`,
      });
      const approval = await manager.findOneByOrFail(ApprovalEntity, { id: (identifiers[0] as { id: string }).id });
      record(auditOf('approval.wanted', null, approval, by));
      return approval;
    });
  }

  async find(id: string): Promise<Approval | null> {
    const [found] = await read(this.query().where('approval.id = :id', { id }));
    return found ?? null;
  }

  /** Locks it until the transaction ends. @throws ApprovalNotFoundError */
  async lock(id: string): Promise<Approval> {
    const [found] = await read(this.query().where('approval.id = :id', { id }).setLock('pessimistic_write'));
    if (!found) throw new ApprovalNotFoundError(id);
    return found;
  }

  /** At most `limit`, the newest first, from the first one before `before`. */
  async list({ state, among }: ApprovalFilter, { before, limit }: { before?: string | undefined; limit: number }): Promise<Approval[]> {
    const query = this.query();
    const within = withinReach('approval.merchantId', among);
    if (within) query.andWhere(within.condition, within.parameters);
    if (before !== undefined) query.andWhere('approval.id < :before', { before });
    if (state === 'expired') query.andWhere(HAS_EXPIRED);
    else if (state !== undefined) query.andWhere(`approval.state = :state AND NOT (${HAS_EXPIRED})`, { state });
    return read(query.orderBy('approval.id', 'DESC').limit(limit));
  }

  /** Writes down what was decided of an approval that the caller has locked. */
  async settle(before: Approval, state: 'approved' | 'rejected' | 'outdated', by: Actor): Promise<Approval> {
    return this.transactions.run(async (manager, record) => {
      const { id } = before;
      const decision = { state, decidedBy: by.name, decidedAt: () => 'clock_timestamp()', decisionReason: by.reason ?? null };
      await manager.update(ApprovalEntity, { id }, decision);
      const after = await manager.findOneByOrFail(ApprovalEntity, { id });
      record(auditOf(`approval.${state}`, before, after, by));
      return after;
    });
  }

  private query(): SelectQueryBuilder<ApprovalEntity> {
    return this.transactions.manager
      .createQueryBuilder(ApprovalEntity, 'approval')
      .addSelect(`(${HAS_EXPIRED})`, 'has_expired')
      .where('true');
  }

  private open(manager: EntityManager): SelectQueryBuilder<ApprovalEntity> {
    return manager.createQueryBuilder(ApprovalEntity, 'approval').where(`approval.state = 'wanted' AND NOT (${HAS_EXPIRED})`);
  }
}

async function read(query: SelectQueryBuilder<ApprovalEntity>): Promise<Approval[]> {
  const { entities, raw } = await query.getRawAndEntities<{ has_expired: boolean }>();
  return entities.map((entity, i) => ({ ...entity, state: raw[i]?.has_expired ? 'expired' : entity.state }));
}

function auditOf(action: AuditAction, before: Approval | null, after: Approval, by: Actor) {
  const { merchantId, change } = after;
  return {
    merchantId,
    plan: change.plan ?? null,
    ...(change.ruleId !== null && { ruleId: change.ruleId }),
    action,
    before: before && written(before),
    after: written(after),
    by,
  };
}

/** What the audit keeps of it. */
function written({ id, state, proposedBy, expiresAt, decidedBy, decisionReason, change }: Approval): object {
  const { plan = null } = change;
  return { ...(plan !== null && { plan }), approval: { id }, state, proposedBy, expiresAt, decidedBy, decisionReason, change };
}

async function deleteOld(manager: EntityManager): Promise<void> {
  await manager.query(
    `DELETE FROM approval WHERE id IN (
       SELECT id FROM approval WHERE expires_at < now() - ${KEPT} ORDER BY id LIMIT ${DELETED_AT_ONCE} FOR UPDATE SKIP LOCKED)`,
  );
}
