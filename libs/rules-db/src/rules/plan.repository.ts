import { DataSource, type EntityManager } from 'typeorm';
import type { Labels } from '#limiter';
import { violatedConstraint, violatedForeignKey } from '../connection/availability.js';
import { type Actor, type Change, type ExpectedVersions, isExpected } from '../changes/change.js';
import { PlanExistsError, PlanInUseError, PlanNotFoundError, TooManyPlansError, VersionConflictError } from '../connection/errors.js';
import { MERCHANT_PLAN } from '../merchants/merchant.entity.js';
import { DeletedPlanEntity, PlanEntity } from './plan.entity.js';
import { demandNoneProtected } from '../changes/protected-rule.js';
import { RuleEntity } from './rule.entity.js';
import { separateTransactions, type Transactions } from '../connection/transactions.js';

/** A full preload writes them all before it walks through the merchants, and every gateway may hold them all. */
export const MAX_PLANS = 1_000;

/** A refusal says how many merchants use a plan, up to this. */
const MOST_COUNTED = 1_000;

/** The fields of a plan that an administrator writes. */
export interface PlanSpec {
  readonly note: string;
  readonly labels: Labels;
}

interface PlanPage {
  readonly after?: string | undefined;
  readonly limit: number;
  /** Only those that have this label, or have a rule that has it. */
  readonly labelledInPart?: { readonly key: string; readonly value: string } | undefined;
}

/** Plans in PostgreSQL. Each write is one transaction with its version and audit row, or part of one. */
export class PlanRepository {
  private readonly transactions: Transactions;

  /** @param database a transaction that the caller began, or the database: then each write is a transaction of its own */
  constructor(database: DataSource | Transactions) {
    this.transactions = database instanceof DataSource ? separateTransactions(database) : database;
  }

  /** Creates a plan without rules. Its version continues from that of a deleted plan of this name. @throws PlanExistsError, TooManyPlansError */
  async create(name: string, { note, labels }: PlanSpec, by: Actor): Promise<PlanEntity> {
    return this.transactions.run(async (manager, record) => {
      if ((await manager.count(PlanEntity)) >= MAX_PLANS) throw new TooManyPlansError(MAX_PLANS);
      // The insert comes before the tombstone is read, because it waits for a deletion that is not committed yet.
      await insertNew(manager, { name, note, labels, version: 0, rulesVersion: 0 });
      const tombstone = await manager.findOneBy(DeletedPlanEntity, { plan: name });
      if (tombstone) await manager.delete(DeletedPlanEntity, { plan: name });
      const version = (tombstone?.rulesVersion ?? 0) + 1;
      await manager.update(PlanEntity, { name }, { version, rulesVersion: version });
      const created = await manager.findOneByOrFail(PlanEntity, { name });
      record(changeOf('plan.created', null, created, by, version));
      return created;
    });
  }

  /** The plan, or null. */
  async find(name: string): Promise<PlanEntity | null> {
    return this.transactions.manager.findOneBy(PlanEntity, { name });
  }

  /** At most `limit` plans by name, from the first one after `after`. */
  async list({ after, limit, labelledInPart }: PlanPage): Promise<PlanEntity[]> {
    const query = this.transactions.manager.createQueryBuilder(PlanEntity, 'plan');
    if (after !== undefined) query.andWhere('plan.name > :after', { after });
    if (labelledInPart)
      query.andWhere('(plan.labels @> :part OR EXISTS (SELECT 1 FROM rule WHERE rule.plan = plan.name AND rule.labels @> :part))', {
        part: JSON.stringify({ [labelledInPart.key]: labelledInPart.value }),
      });
    return query.orderBy('plan.name', 'ASC').limit(limit).getMany();
  }

  /** Locks those of these plans that exist until the transaction ends, by name. Whoever locks merchants as well locks these later. */
  async lock(names: readonly string[]): Promise<void> {
    if (names.length > 0)
      await this.transactions.manager.query('SELECT 1 FROM plan WHERE name = ANY($1) ORDER BY name FOR NO KEY UPDATE', [names]);
  }

  /**
   * Replaces what is written of a plan, not its rules: no gateway has to know.
   * @param spec or what makes it of the plan as it stands; if it throws, nothing is changed
   * @throws PlanNotFoundError, VersionConflictError
   */
  async replace(
    name: string,
    expected: ExpectedVersions,
    spec: PlanSpec | ((before: PlanEntity) => PlanSpec),
    by: Actor,
    action: 'plan.replaced' | 'plan.reverted' = 'plan.replaced',
  ): Promise<PlanEntity> {
    return this.transactions.run(async (manager, record) => {
      const before = await locked(manager, name, expected);
      const { note, labels } = typeof spec === 'function' ? spec(before) : spec;
      await manager.update(PlanEntity, { name }, { note, labels, version: before.version + 1 });
      const after = await manager.findOneByOrFail(PlanEntity, { name });
      record(changeOf(action, before, after, by));
      return after;
    });
  }

  /** Deletes the plan with its rules. @throws PlanNotFoundError, VersionConflictError; PlanInUseError while merchants have it; ApprovalWantedError if one of the rules is protected: it has to be deleted first */
  async delete(name: string, expected: ExpectedVersions, by: Actor): Promise<void> {
    await this.transactions.run(async (manager, record) => {
      const rulesVersion = await raisePlanVersion(manager, name);
      const plan = await locked(manager, name, expected);
      const merchants = await merchantsOf(manager, name);
      if (merchants > 0) throw new PlanInUseError(name, merchants > MOST_COUNTED ? `more than ${MOST_COUNTED}` : String(merchants));
      const rules = await manager.findBy(RuleEntity, { plan: name });
      demandNoneProtected(rules);
      await manager.insert(DeletedPlanEntity, { plan: name, rulesVersion });
      await deleteUnused(manager, name);
      record(changeOf('plan.deleted', { ...plan, rules }, null, by, rulesVersion));
    });
  }
}

/**
 * Raises the version of a plan's snapshot and returns it. The plan's row is locked until the transaction ends; merchants may still join it.
 *
 * @throws PlanNotFoundError
 */
export async function raisePlanVersion(manager: EntityManager, name: string): Promise<number> {
  const [rows] = (await manager.query('UPDATE plan SET rules_version = rules_version + 1 WHERE name = $1 RETURNING rules_version', [
    name,
  ])) as [{ rules_version: string }[], number];
  const [row] = rows;
  if (!row) throw new PlanNotFoundError(name);
  return Number(row.rules_version);
}

async function locked(manager: EntityManager, name: string, expected: ExpectedVersions): Promise<PlanEntity> {
  const plan = await manager.findOne(PlanEntity, { where: { name }, lock: { mode: 'for_no_key_update' } });
  if (!plan) throw new PlanNotFoundError(name);
  if (!isExpected(expected, plan.version)) throw new VersionConflictError(plan.version);
  return plan;
}

async function merchantsOf(manager: EntityManager, plan: string): Promise<number> {
  const [row] = (await manager.query('SELECT count(*)::int AS count FROM (SELECT 1 FROM merchant WHERE plan = $1 LIMIT $2) m', [
    plan,
    MOST_COUNTED + 1,
  ])) as [{ count: number }];
  return row.count;
}

/** A merchant may have joined it just now. */
async function deleteUnused(manager: EntityManager, name: string): Promise<void> {
  try {
    await manager.delete(PlanEntity, { name });
  } catch (error) {
    if (violatedForeignKey(error) === MERCHANT_PLAN) throw new PlanInUseError(name, '1');
    throw error;
  }
}

async function insertNew(manager: EntityManager, values: PlanSpec & Pick<PlanEntity, 'name' | 'version' | 'rulesVersion'>): Promise<void> {
  try {
    await manager.insert(PlanEntity, values);
  } catch (error) {
    if (violatedConstraint(error) === 'plan_pkey') throw new PlanExistsError(values.name);
    throw error;
  }
}

/** The audit finds the changes of a plan and of its rules by `plan`. @param version of the snapshot, if gateways have to know */
function changeOf(
  action: Change['action'],
  before: (PlanEntity & { readonly rules?: readonly RuleEntity[] }) | null,
  after: PlanEntity | null,
  by: Actor,
  version?: number,
): Change {
  const plan = (before ?? after)!.name;
  const image = (entity: PlanEntity | null) => entity && { plan, ...entity };
  return { merchantId: null, plan, action, before: image(before), after: image(after), by, ...(version !== undefined && { version }) };
}
