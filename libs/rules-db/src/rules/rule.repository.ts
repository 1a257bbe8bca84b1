import { DataSource, type EntityManager, type FindOptionsWhere, In, IsNull, type SelectQueryBuilder } from 'typeorm';
import { editLimits, type Layer, type RuleSpec, startLimits } from '#limiter';
import { type Actor, type ExpectedVersions, isExpected } from '../changes/change.js';
import { RuleNotFoundError, TooManyRulesError, VersionConflictError } from '../connection/errors.js';
import { MerchantEntity } from '../merchants/merchant.entity.js';
import { isProtected, PROTECTED_LABEL } from '../changes/protected-rule.js';
import { demandApproval } from '../changes/rule-approval.js';
import { makeEdits, MAX_RULES_PER_OWNER, type RuleEdits } from './rule-edits.js';
import { ownedBy, ownerColumns, raiseVersion, type RuleOwner, timeZoneOf } from './rule-owner.js';
import { insertWithId, nameTaken, stored } from './rule-row.js';
import { RuleEntity } from './rule.entity.js';
import { isReadableRule } from './stored-row.js';
import { separateTransactions, type Transactions } from '../connection/transactions.js';

/** Rules of one layer, by whose they are. */
export interface Competitors {
  readonly own: RuleEntity[];
  readonly plan: RuleEntity[];
  readonly defaults: RuleEntity[];
}

interface Label {
  readonly key: string;
  readonly value: string;
}

/** The position of a rule in the list by priority. */
export interface RulePosition {
  readonly priority: number;
  readonly id: string;
}

/**
 * Rules in PostgreSQL. Each write is one transaction with the owner's version, audit row and outbox row, or part of one. It locks the
 * owner first, so that writes to one owner's rules happen one after the other.
 */
export class RuleRepository {
  private readonly transactions: Transactions;

  /**
   * @param database a transaction that the caller began, or the database: then each write is a transaction of its own
   * @param nowMs the clock for the start of limits, in milliseconds since 1970; it is read while the rule is locked
   */
  constructor(
    database: DataSource | Transactions,
    private readonly nowMs: () => number = Date.now,
  ) {
    this.transactions = database instanceof DataSource ? separateTransactions(database) : database;
  }

  /** Creates a rule; its limits start now. @throws MerchantNotFoundError, PlanNotFoundError, RuleNameTakenError, TooManyRulesError */
  async create(owner: RuleOwner, spec: RuleSpec, by: Actor): Promise<RuleEntity> {
    return this.transactions.run(async (manager, record) => {
      const version = await raiseVersion(manager, owner);
      if ((await manager.countBy(RuleEntity, ownedBy(owner))) >= MAX_RULES_PER_OWNER) throw new TooManyRulesError(MAX_RULES_PER_OWNER);
      const values = { ...stored(spec, owner), limits: startLimits(spec.limits, this.nowMs()), version: 1 };
      const { identifiers } = await nameTaken(spec.name, manager.insert(RuleEntity, values));
      const after = await manager.findOneByOrFail(RuleEntity, { id: identifiers[0]!['id'] as string });
      record({ ...ownerColumns(owner), ruleId: after.id, action: 'rule.created', before: null, after, version, by });
      return after;
    });
  }

  /**
   * Makes the edits of several owners in a few statements, with one new version of the snapshot of each owner. The caller has locked the owners, and read
   * the rules since. Of each owner deletions come first, so that a name can go from one rule to another one.
   * @param edits of different owners, together some thousand rules at most
   * @throws MerchantNotFoundError, PlanNotFoundError, RuleNameTakenError, TooManyRulesError, VersionConflictError if a rule is not what was read, ApprovalWantedError
   */
  async editAll(edits: readonly RuleEdits[], by: Actor): Promise<void> {
    await this.transactions.run(async (manager, record) => {
      await makeEdits(manager, edits, { nowMs: this.nowMs(), by, record });
    });
  }

  /** The rule, or null if this owner has no rule with this id. */
  async find(owner: RuleOwner, id: string): Promise<RuleEntity | null> {
    return this.transactions.manager.findOneBy(RuleEntity, { id, ...ownedBy(owner) });
  }

  /** At most `limit` rules after the position `after`: the highest priority first, and among equals the older rule first. */
  async list(owner: RuleOwner, { after, limit }: { after?: RulePosition | undefined; limit: number }): Promise<RuleEntity[]> {
    const query = this.transactions.manager.createQueryBuilder(RuleEntity, 'rule').where(ownedBy(owner));
    if (after) query.andWhere('(rule.priority < :priority OR (rule.priority = :priority AND rule.id > :id))', { ...after });
    return query.orderBy('rule.priority', 'DESC').addOrderBy('rule.id', 'ASC').limit(limit).getMany();
  }

  /** All rules of these merchants, or the default rules, or those of them that have a label: the highest priority first, and among equals by name. */
  async ofOwners(owners: readonly string[] | null, label?: Label): Promise<RuleEntity[]> {
    const where = owners === null ? { merchantId: IsNull(), plan: IsNull() } : { merchantId: In([...owners]) };
    return this.labelled(where, label).orderBy('rule.merchantId').addOrderBy('rule.priority', 'DESC').addOrderBy('rule.name').getMany();
  }

  /** All rules of these plans, or those of them that have a label, in the same order. */
  async ofPlans(names: readonly string[], label?: Label): Promise<RuleEntity[]> {
    return this.labelled({ plan: In([...names]) }, label)
      .orderBy('rule.plan')
      .addOrderBy('rule.priority', 'DESC')
      .addOrderBy('rule.name')
      .getMany();
  }

  private labelled(where: FindOptionsWhere<RuleEntity>, label: Label | undefined): SelectQueryBuilder<RuleEntity> {
    const query = this.transactions.manager.createQueryBuilder(RuleEntity, 'rule').where(where);
    if (label) query.andWhere('rule.labels @> :label', { label: JSON.stringify({ [label.key]: label.value }) });
    return query;
  }

  /** How many rules these merchants have together. */
  async countOf(owners: readonly string[]): Promise<number> {
    return this.transactions.manager.countBy(RuleEntity, { merchantId: In([...owners]) });
  }

  /** Those of the rules of these merchants that are protected. */
  async protectedOf(owners: readonly string[]): Promise<RuleEntity[]> {
    const labelled = await this.labelled({ merchantId: In([...owners]) }, undefined)
      .andWhere('jsonb_exists(rule.labels, :protected)', { protected: PROTECTED_LABEL })
      .orderBy('rule.merchantId')
      .addOrderBy('rule.name')
      .getMany();
    return labelled.filter(({ labels }) => isProtected(labels));
  }

  /**
   * The enabled rules that are asked in the same layer for the owner's requests: those of the owner, of its plan, if it is a merchant that has one,
   * and the default rules.
   */
  async competitors(owner: RuleOwner, layer: Layer): Promise<Competitors> {
    const { manager } = this.transactions;
    const merchant = typeof owner === 'string' ? await manager.findOneBy(MerchantEntity, { id: owner }) : null;
    const owners = [owner, merchant?.plan ? { plan: merchant.plan } : null, null];
    const where = owners.map((each) => {
      const { plan } = ownerColumns(each);
      return { ...ownedBy(each), layer, ...(plan === null ? { enabled: true } : { planEnabled: true }) };
    });
    const rules = await manager.find(RuleEntity, { where });
    return {
      own: rules.filter(({ merchantId }) => merchantId !== null),
      plan: rules.filter(({ plan }) => plan !== null),
      defaults: rules.filter(({ merchantId, plan }) => merchantId === null && plan === null),
    };
  }

  /** The number of rules, those of plans and the default rules included. */
  async count(): Promise<number> {
    return this.transactions.manager.count(RuleEntity);
  }

  /** Locks the default rules until the transaction ends. Whoever locks merchants as well locks these last. */
  async lockDefaultRules(): Promise<void> {
    await this.transactions.manager.query('SELECT 1 FROM default_rules_version FOR UPDATE');
  }

  /** Replaces everything but the identity of a rule; live buckets of its limits keep what they hold. @throws MerchantNotFoundError, RuleNotFoundError, VersionConflictError, RuleNameTakenError, ApprovalWantedError */
  async replace(
    owner: RuleOwner,
    id: string,
    expected: ExpectedVersions,
    spec: RuleSpec | ((before: RuleEntity) => RuleSpec),
    by: Actor,
    action: 'rule.replaced' | 'rule.reverted' = 'rule.replaced',
  ): Promise<RuleEntity> {
    return this.transactions.run(async (manager, record) => {
      const version = await raiseVersion(manager, owner);
      const before = await lockRule(manager, owner, id, expected);
      const written = typeof spec === 'function' ? spec(before) : spec;
      // Limits that cannot be parsed have no history to continue: no gateway has used them.
      const limits = isReadableRule(before)
        ? editLimits(before.limits, written.limits, this.nowMs(), await timeZoneOf(manager, owner))
        : startLimits(written.limits, this.nowMs());
      const values = { ...stored(written, owner), limits, version: before.version + 1 };
      const { affected } = await nameTaken(written.name, manager.update(RuleEntity, { id, version: before.version }, values));
      if (affected !== 1) throw new VersionConflictError(before.version);
      demandApproval([{ owner, before, after: written, action }], by);
      const after = await manager.findOneByOrFail(RuleEntity, { id });
      record({ ...ownerColumns(owner), ruleId: id, action, before, after, version, by });
      return after;
    });
  }

  /**
   * Brings a deleted rule back under its id, as a new version. Its limits go on from what they were when it was deleted, so that buckets which are
   * still there are carried over as by any edit.
   * @param deleted what the rule was when it was deleted, as the audit has it
   * @throws MerchantNotFoundError, RuleNameTakenError, TooManyRulesError; VersionConflictError if it is there after all, or was deleted at another version; ApprovalWantedError
   */
  async restore(owner: RuleOwner, deleted: RuleEntity, expected: ExpectedVersions, spec: RuleSpec, by: Actor): Promise<RuleEntity> {
    return this.transactions.run(async (manager, record) => {
      const version = await raiseVersion(manager, owner);
      const { id } = deleted;
      const there = await manager.findOneBy(RuleEntity, { id });
      if (there || !isExpected(expected, deleted.version)) throw new VersionConflictError(there?.version ?? deleted.version);
      if ((await manager.countBy(RuleEntity, ownedBy(owner))) >= MAX_RULES_PER_OWNER) throw new TooManyRulesError(MAX_RULES_PER_OWNER);
      const limits = editLimits(deleted.limits, spec.limits, this.nowMs(), await timeZoneOf(manager, owner));
      const values = { ...stored(spec, owner), limits, version: deleted.version + 1 };
      await nameTaken(spec.name, insertWithId(manager, id, values));
      demandApproval([{ owner, before: deleted, after: spec, action: 'rule.reverted' }], by);
      const after = await manager.findOneByOrFail(RuleEntity, { id });
      record({ ...ownerColumns(owner), ruleId: id, action: 'rule.reverted', before: null, after, version, by });
      return after;
    });
  }

  /** Deletes a rule. @throws MerchantNotFoundError, RuleNotFoundError, VersionConflictError, ApprovalWantedError */
  async delete(owner: RuleOwner, id: string, expected: ExpectedVersions, by: Actor): Promise<void> {
    await this.transactions.run(async (manager, record) => {
      const version = await raiseVersion(manager, owner);
      const before = await lockRule(manager, owner, id, expected);
      const { affected } = await manager.delete(RuleEntity, { id, version: before.version });
      if (affected !== 1) throw new VersionConflictError(before.version);
      demandApproval([{ owner, before, after: null, action: 'rule.deleted' }], by);
      record({ ...ownerColumns(owner), ruleId: id, action: 'rule.deleted', before, after: null, version, by });
    });
  }
}

async function lockRule(manager: EntityManager, owner: RuleOwner, id: string, expected: ExpectedVersions): Promise<RuleEntity> {
  const rule = await manager.findOne(RuleEntity, { where: { id, ...ownedBy(owner) }, lock: { mode: 'pessimistic_write' } });
  if (!rule) throw new RuleNotFoundError(id);
  if (!isExpected(expected, rule.version)) throw new VersionConflictError(rule.version);
  return rule;
}
