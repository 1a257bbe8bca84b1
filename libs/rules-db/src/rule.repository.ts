import { DataSource, type EntityManager, In, IsNull } from 'typeorm';
import { editLimits, languageOf, type Layer, type RuleSpec, startLimits } from '#limiter';
import { violatedConstraint } from './availability.js';
import { type Actor, type Expected, isExpected } from './change.js';
import { RuleNameTakenError, RuleNotFoundError, TooManyRulesError, VersionConflictError } from './errors.js';
import { MerchantEntity } from './merchant.entity.js';
import { ownedBy, ownerColumns, raiseVersion, type RuleOwner, timeZoneOf } from './rule-owner.js';
import { modeText } from './stored-mode.js';
import { ApprovalWantedError, isProtected } from './protected-rule.js';
import { isReadableRule } from './stored-row.js';
import { separateTransactions, type Transactions } from './transactions.js';
import { RULE_NAME_OF_DEFAULT, RULE_NAME_OF_MERCHANT, RULE_NAME_OF_PLAN, RuleEntity } from './rule.entity.js';

/** The maximum number of rules of one owner: a gateway looks at all of them for each request. */
export const MAX_RULES_PER_OWNER = 100;

/** Rules of one layer, by whose they are. */
export interface Competitors {
  readonly own: RuleEntity[];
  readonly plan: RuleEntity[];
  readonly defaults: RuleEntity[];
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
    const [created] = await this.createAll(owner, [spec], by);
    return created!;
  }

  /** The same for several rules of one owner, at most as many as an owner may have, with one version of its snapshot. */
  async createAll(owner: RuleOwner, specs: readonly RuleSpec[], by: Actor): Promise<RuleEntity[]> {
    return this.transactions.run(async (manager, record) => {
      const version = await raiseVersion(manager, owner);
      const others = await manager.countBy(RuleEntity, ownedBy(owner));
      if (others + specs.length > MAX_RULES_PER_OWNER) throw new TooManyRulesError(MAX_RULES_PER_OWNER);
      const nowMs = this.nowMs();
      const values = specs.map((spec) => ({ ...stored(spec, owner), limits: startLimits(spec.limits, nowMs), version: 1 }));
      const names = specs.map(({ name }) => name).join(', ');
      const { identifiers } = await nameTaken(names, manager.insert(RuleEntity, values));
      const ids = identifiers.map(({ id }) => id as string);
      const found = new Map((await manager.findBy(RuleEntity, { id: In(ids) })).map((rule) => [rule.id, rule]));
      const created = ids.map((id) => found.get(id)!);
      for (const after of created)
        record({ ...ownerColumns(owner), ruleId: after.id, action: 'rule.created', before: null, after, version, by });
      return created;
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

  /** All rules of these merchants, or the default rules: the highest priority first, and among equals by name. */
  async ofOwners(owners: readonly string[] | null): Promise<RuleEntity[]> {
    return this.transactions.manager.find(RuleEntity, {
      where: owners === null ? { merchantId: IsNull(), plan: IsNull() } : { merchantId: In([...owners]) },
      order: { merchantId: 'ASC', priority: 'DESC', name: 'ASC' },
    });
  }

  /** All rules of these plans, in the same order. */
  async ofPlans(names: readonly string[]): Promise<RuleEntity[]> {
    return this.transactions.manager.find(RuleEntity, {
      where: { plan: In([...names]) },
      order: { plan: 'ASC', priority: 'DESC', name: 'ASC' },
    });
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
    expected: Expected,
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
      demandApproval(owner, before, written, action, by);
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
  async restore(owner: RuleOwner, deleted: RuleEntity, expected: Expected, spec: RuleSpec, by: Actor): Promise<RuleEntity> {
    return this.transactions.run(async (manager, record) => {
      const version = await raiseVersion(manager, owner);
      const { id } = deleted;
      const there = await manager.findOneBy(RuleEntity, { id });
      if (there || !isExpected(expected, deleted.version)) throw new VersionConflictError(there?.version ?? deleted.version);
      if ((await manager.countBy(RuleEntity, ownedBy(owner))) >= MAX_RULES_PER_OWNER) throw new TooManyRulesError(MAX_RULES_PER_OWNER);
      const limits = editLimits(deleted.limits, spec.limits, this.nowMs(), await timeZoneOf(manager, owner));
      const values = { ...stored(spec, owner), limits, version: deleted.version + 1 };
      await nameTaken(spec.name, insertWithId(manager, id, values));
      demandApproval(owner, deleted, spec, 'rule.reverted', by);
      const after = await manager.findOneByOrFail(RuleEntity, { id });
      record({ ...ownerColumns(owner), ruleId: id, action: 'rule.reverted', before: null, after, version, by });
      return after;
    });
  }

  /** Deletes a rule. @throws MerchantNotFoundError, RuleNotFoundError, VersionConflictError, ApprovalWantedError */
  async delete(owner: RuleOwner, id: string, expected: Expected, by: Actor): Promise<void> {
    await this.transactions.run(async (manager, record) => {
      const version = await raiseVersion(manager, owner);
      const before = await lockRule(manager, owner, id, expected);
      const { affected } = await manager.delete(RuleEntity, { id, version: before.version });
      if (affected !== 1) throw new VersionConflictError(before.version);
      demandApproval(owner, before, null, 'rule.deleted', by);
      record({ ...ownerColumns(owner), ruleId: id, action: 'rule.deleted', before, after: null, version, by });
    });
  }
}

/** What a rule is written without is not left as it was. A rule of a plan is stored as one that is not enabled: see `planEnabled`. */
function stored(spec: RuleSpec, owner: RuleOwner) {
  const columns = ownerColumns(owner);
  const isOfPlan = columns.plan !== null;
  const enabled = { enabled: spec.enabled && !isOfPlan, planEnabled: isOfPlan ? spec.enabled : null };
  return { ...complete(spec), ...columns, ...enabled };
}

function complete(spec: RuleSpec): Required<RuleSpec> & Pick<RuleEntity, 'language'> {
  return { penalty: null, note: '', labels: {}, validFrom: null, validTo: null, schedule: null, ...spec, language: languageOf(spec) };
}

async function lockRule(manager: EntityManager, owner: RuleOwner, id: string, expected: Expected): Promise<RuleEntity> {
  const rule = await manager.findOne(RuleEntity, { where: { id, ...ownedBy(owner) }, lock: { mode: 'pessimistic_write' } });
  if (!rule) throw new RuleNotFoundError(id);
  if (!isExpected(expected, rule.version)) throw new VersionConflictError(rule.version);
  return rule;
}

const NAMES: readonly (string | undefined)[] = [RULE_NAME_OF_MERCHANT, RULE_NAME_OF_DEFAULT, RULE_NAME_OF_PLAN];

/** Called when a write has passed all other checks, within its transaction, which then ends without a trace. @throws ApprovalWantedError */
function demandApproval(owner: RuleOwner, before: RuleEntity, after: RuleSpec | null, action: RuleAction, by: Actor): void {
  if (by.approval !== undefined || !isProtected(before.labels)) return;
  const { id: ruleId, version } = before;
  throw new ApprovalWantedError([{ action, ...ownerColumns(owner), ruleId, version, before, after }]);
}

type RuleAction = 'rule.replaced' | 'rule.reverted' | 'rule.deleted';

async function nameTaken<T>(name: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (NAMES.includes(constraint)) throw new RuleNameTakenError(name);
    throw error;
  }
}

/** The database gives ids out itself; only a rule that comes back brings its own. */
async function insertWithId(
  manager: EntityManager,
  id: string,
  values: Omit<ReturnType<typeof stored>, 'limits'> & Pick<RuleEntity, 'limits' | 'version'>,
): Promise<void> {
  const { merchantId, name, layer, priority, enabled, mode, match, key, limits, cost, onStoreFailure, penalty, note, labels, version } =
    values;
  const { validFrom, validTo, schedule, language } = values;
  await manager.query(
    `INSERT INTO rule (id, merchant_id, name, layer, priority, enabled, mode, match, key, limits, cost, on_store_failure, penalty, note, labels, version,
       valid_from, valid_to, schedule, language, plan, plan_enabled)
     OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`,
    [
      id,
      merchantId,
      name,
      layer,
      priority,
      enabled,
      modeText(mode),
      ...[match, key, limits].map((value) => JSON.stringify(value)),
      cost,
      onStoreFailure,
      penalty ? JSON.stringify(penalty) : null,
      note,
      JSON.stringify(labels),
      version,
      validFrom,
      validTo,
      schedule ? JSON.stringify(schedule) : null,
      language,
      values.plan,
      values.planEnabled,
    ],
  );
}
