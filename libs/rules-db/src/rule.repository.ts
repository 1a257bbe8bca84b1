import { DataSource, type EntityManager, In, IsNull } from 'typeorm';
import { editLimits, languageOf, type Layer, type RuleSpec, startLimits } from '#limiter';
import { violatedConstraint } from './availability.js';
import { type Actor, type Expected, isExpected } from './change.js';
import { MerchantNotFoundError, RuleNameTakenError, RuleNotFoundError, TooManyRulesError, VersionConflictError } from './errors.js';
import { MerchantEntity } from './merchant.entity.js';
import { raiseRulesVersion, raiseRulesVersions } from './merchant.repository.js';
import { modeText } from './stored-mode.js';
import { ApprovalWantedError, isProtected, type ProposedChange, PROTECTED_LABEL } from './protected-rule.js';
import { insertRows, updateRows } from './row-sets.js';
import { isReadableRule } from './stored-row.js';
import { separateTransactions, type Transactions } from './transactions.js';
import { RULE_NAME_OF_DEFAULT, RULE_NAME_OF_MERCHANT, RuleEntity } from './rule.entity.js';

/** The owner of rules: a merchant's id, or null for the default rules. */
export type RuleOwner = string | null;

/** The maximum number of rules of one owner: a gateway looks at all of them for each request. */
export const MAX_RULES_PER_OWNER = 100;

/** The position of a rule in the list by priority. */
export interface RulePosition {
  readonly priority: number;
  readonly id: string;
}

/** What changes of the rules of one owner. */
export interface RuleEdits {
  readonly owner: RuleOwner;
  readonly deleted: readonly RuleEntity[];
  readonly replaced: readonly { readonly before: RuleEntity; readonly spec: RuleSpec }[];
  readonly created: readonly RuleSpec[];
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

  /** Creates a rule; its limits start now. @throws MerchantNotFoundError, RuleNameTakenError, TooManyRulesError */
  async create(owner: RuleOwner, spec: RuleSpec, by: Actor): Promise<RuleEntity> {
    return this.transactions.run(async (manager, record) => {
      const version = await raiseVersion(manager, owner);
      if ((await manager.countBy(RuleEntity, ownedBy(owner))) >= MAX_RULES_PER_OWNER) throw new TooManyRulesError(MAX_RULES_PER_OWNER);
      const values = { ...complete(spec), limits: startLimits(spec.limits, this.nowMs()), merchantId: owner, version: 1 };
      const { identifiers } = await nameTaken(spec.name, manager.insert(RuleEntity, values));
      const after = await manager.findOneByOrFail(RuleEntity, { id: identifiers[0]!['id'] as string });
      record({ merchantId: owner, ruleId: after.id, action: 'rule.created', before: null, after, version, by });
      return after;
    });
  }

  /**
   * Makes the edits of several owners in a few statements, with one new version of the snapshot of each owner. The caller has locked the owners, and read
   * the rules since. Of each owner deletions come first, so that a name can go from one rule to another one.
   * @param edits of different owners, together some thousand rules at most
   * @throws MerchantNotFoundError, RuleNameTakenError, TooManyRulesError, VersionConflictError if a rule is not what was read, ApprovalWantedError
   */
  async editAll(edits: readonly RuleEdits[], by: Actor): Promise<void> {
    await this.transactions.run(async (manager, record) => {
      const owners = await raiseVersions(
        manager,
        edits.map(({ owner }) => owner),
      );
      const nowMs = this.nowMs();
      await deleteRules(manager, edits);
      const replaced = await replaceRules(manager, edits, owners, nowMs);
      await demandRoom(manager, edits);
      const created = await createRules(manager, edits, nowMs);
      demandApprovals(edits, by);
      for (const { owner, deleted, replaced: replacements, created: specs } of edits) {
        const about = { merchantId: owner, version: owners.get(owner)!.version, by };
        for (const before of deleted) record({ ...about, ruleId: before.id, action: 'rule.deleted', before, after: null });
        for (const { before } of replacements)
          record({ ...about, ruleId: before.id, action: 'rule.replaced', before, after: replaced.get(before.id)! });
        for (const { name } of specs) {
          const after = created.get(nameOf(owner, name))!;
          record({ ...about, ruleId: after.id, action: 'rule.created', before: null, after });
        }
      }
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

  /**
   * All rules of these merchants, or the default rules, or those of them that have a label: the highest priority first, and among equals by name.
   */
  async ofOwners(owners: readonly string[] | null, label?: { readonly key: string; readonly value: string }): Promise<RuleEntity[]> {
    const query = this.transactions.manager
      .createQueryBuilder(RuleEntity, 'rule')
      .where({ merchantId: owners === null ? IsNull() : In([...owners]) });
    if (label) query.andWhere('rule.labels @> :label', { label: JSON.stringify({ [label.key]: label.value }) });
    return query.orderBy('rule.merchantId').addOrderBy('rule.priority', 'DESC').addOrderBy('rule.name').getMany();
  }

  /** How many rules these merchants have together. */
  async countOf(owners: readonly string[]): Promise<number> {
    return this.transactions.manager.countBy(RuleEntity, { merchantId: In([...owners]) });
  }

  /** Those of the rules of these merchants that are protected. */
  async protectedOf(owners: readonly string[]): Promise<RuleEntity[]> {
    const labelled = await this.transactions.manager
      .createQueryBuilder(RuleEntity, 'rule')
      .where({ merchantId: In([...owners]) })
      .andWhere('jsonb_exists(rule.labels, :label)', { label: PROTECTED_LABEL })
      .orderBy('rule.merchantId')
      .addOrderBy('rule.name')
      .getMany();
    return labelled.filter(({ labels }) => isProtected(labels));
  }

  /** The enabled rules that are asked in the same layer for the owner's requests: its own ones and the default rules. */
  async competitors(owner: RuleOwner, layer: Layer): Promise<{ own: RuleEntity[]; defaults: RuleEntity[] }> {
    const inLayer = { layer, enabled: true };
    const owners = owner === null ? [{ merchantId: IsNull() }] : [{ merchantId: owner }, { merchantId: IsNull() }];
    const rules = await this.transactions.manager.find(RuleEntity, { where: owners.map((each) => ({ ...each, ...inLayer })) });
    return { own: rules.filter(({ merchantId }) => merchantId !== null), defaults: rules.filter(({ merchantId }) => merchantId === null) };
  }

  /** The number of rules, the default rules included. */
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
      const values = { ...complete(written), limits, version: before.version + 1 };
      const { affected } = await nameTaken(written.name, manager.update(RuleEntity, { id, version: before.version }, values));
      if (affected !== 1) throw new VersionConflictError(before.version);
      demandApproval(owner, before, written, action, by);
      const after = await manager.findOneByOrFail(RuleEntity, { id });
      record({ merchantId: owner, ruleId: id, action, before, after, version, by });
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
      const values = { ...complete(spec), limits, merchantId: owner, version: deleted.version + 1 };
      await nameTaken(spec.name, insertWithId(manager, id, values));
      demandApproval(owner, deleted, spec, 'rule.reverted', by);
      const after = await manager.findOneByOrFail(RuleEntity, { id });
      record({ merchantId: owner, ruleId: id, action: 'rule.reverted', before: null, after, version, by });
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
      record({ merchantId: owner, ruleId: id, action: 'rule.deleted', before, after: null, version, by });
    });
  }
}

/** A rule as it is stored, in the form of the audit. */
type Stored = Omit<RuleEntity, 'merchant'>;

interface Owner {
  /** The new version of the snapshot. */
  readonly version: number;
  readonly timeZone: string | undefined;
}

async function raiseVersions(manager: EntityManager, owners: readonly RuleOwner[]): Promise<Map<RuleOwner, Owner>> {
  const ids = owners.filter((owner) => owner !== null);
  const versions = ids.length === 0 ? new Map<string, number>() : await raiseRulesVersions(manager, ids);
  const merchants =
    ids.length === 0 ? [] : await manager.find(MerchantEntity, { select: { id: true, timeZone: true }, where: { id: In(ids) } });
  const timeZones = new Map(merchants.map(({ id, timeZone }) => [id, timeZone]));
  const raised = new Map<RuleOwner, Owner>();
  for (const owner of owners) {
    const version = owner === null ? await raiseVersion(manager, null) : versions.get(owner);
    if (version === undefined) throw new MerchantNotFoundError(String(owner));
    raised.set(owner, { version, timeZone: owner === null ? undefined : timeZones.get(owner) });
  }
  return raised;
}

async function deleteRules(manager: EntityManager, edits: readonly RuleEdits[]): Promise<void> {
  const deleted = edits.flatMap((edit) => edit.deleted);
  if (deleted.length === 0) return;
  const [ids, versions] = [deleted.map(({ id }) => id), deleted.map(({ version }) => version)];
  const [, count] = (await manager.query(
    'DELETE FROM rule USING unnest($1::bigint[], $2::int[]) AS gone(id, version) WHERE rule.id = gone.id AND rule.version = gone.version',
    [ids, versions],
  )) as [unknown, number];
  if (count !== deleted.length) throw new VersionConflictError(versions[0]!);
}

/** The rules by their ids, as they are then. */
async function replaceRules(
  manager: EntityManager,
  edits: readonly RuleEdits[],
  owners: ReadonlyMap<RuleOwner, Owner>,
  nowMs: number,
): Promise<Map<string, Stored>> {
  const after = new Map<string, Stored>();
  for (const { owner, replaced } of edits) {
    for (const { before, spec } of replaced) {
      // Limits that cannot be parsed have no history to continue: no gateway has used them.
      const limits = isReadableRule(before)
        ? editLimits(before.limits, spec.limits, nowMs, owners.get(owner)!.timeZone)
        : startLimits(spec.limits, nowMs);
      after.set(before.id, { ...before, ...complete(spec), limits, version: before.version + 1 });
    }
  }
  const rows = edits.flatMap(({ replaced }) =>
    replaced.map(({ before: { id }, spec }) => {
      const { limits, version } = after.get(id)!;
      return { id, ...complete(spec), limits, version };
    }),
  );
  const updated = await updateRows<RuleEntity, 'id' | 'updatedAt'>(manager, RuleEntity, rows, {
    keys: ['id'],
    raises: 'version',
    returning: ['id', 'updatedAt'],
  });
  if (updated.length !== after.size) throw new VersionConflictError(rows[0]!.version - 1);
  for (const { id, updatedAt } of updated) after.get(id)!.updatedAt = updatedAt;
  return after;
}

async function demandRoom(manager: EntityManager, edits: readonly RuleEdits[]): Promise<void> {
  const creating = edits.filter(({ created }) => created.length > 0);
  const owners = creating.map(({ owner }) => owner).filter((owner) => owner !== null);
  const counted = (await manager.query('SELECT merchant_id, count(*)::int AS rules FROM rule WHERE merchant_id = ANY($1) GROUP BY 1', [
    owners,
  ])) as { merchant_id: string; rules: number }[];
  const others = new Map<RuleOwner, number>(counted.map(({ merchant_id: owner, rules }) => [owner, rules]));
  if (creating.some(({ owner }) => owner === null)) others.set(null, await manager.countBy(RuleEntity, ownedBy(null)));
  for (const { owner, created } of creating)
    if ((others.get(owner) ?? 0) + created.length > MAX_RULES_PER_OWNER) throw new TooManyRulesError(MAX_RULES_PER_OWNER);
}

/** The new rules by their owners and names. */
async function createRules(manager: EntityManager, edits: readonly RuleEdits[], nowMs: number): Promise<Map<string, Stored>> {
  const rows = edits.flatMap(({ owner, created }) =>
    created.map((spec) => ({ ...complete(spec), limits: startLimits(spec.limits, nowMs), merchantId: owner, version: 1 })),
  );
  const names = rows.length <= MAX_RULES_PER_OWNER ? rows.map(({ name }) => name).join(', ') : 'that the document gives to a new rule';
  type Given = 'id' | 'merchantId' | 'name' | 'createdAt' | 'updatedAt';
  const returning: readonly Given[] = ['id', 'merchantId', 'name', 'createdAt', 'updatedAt'];
  const inserted = await nameTaken(names, insertRows<RuleEntity, Given>(manager, RuleEntity, rows, returning));
  const given = new Map(inserted.map((row) => [nameOf(row.merchantId, row.name), row]));
  return new Map(
    rows.map((row) => {
      const key = nameOf(row.merchantId, row.name);
      return [key, { ...row, ...given.get(key)! }];
    }),
  );
}

const nameOf = (owner: RuleOwner, name: string): string => JSON.stringify([owner, name]);

/** What a rule is written without is not left as it was. */
function complete(spec: RuleSpec): CompleteRule {
  return { penalty: null, note: '', labels: {}, validFrom: null, validTo: null, schedule: null, ...spec, language: languageOf(spec) };
}

type CompleteRule = Required<RuleSpec> & Pick<RuleEntity, 'language'>;

function ownedBy(owner: RuleOwner) {
  return { merchantId: owner ?? IsNull() };
}

async function raiseVersion(manager: EntityManager, owner: RuleOwner): Promise<number> {
  if (owner !== null) return raiseRulesVersion(manager, owner);
  const [rows] = (await manager.query('UPDATE default_rules_version SET version = version + 1 RETURNING version')) as [
    { version: string }[],
    number,
  ];
  const [row] = rows;
  if (!row) throw new Error('the row of default_rules_version is missing');
  return Number(row.version);
}

async function timeZoneOf(manager: EntityManager, owner: RuleOwner): Promise<string | undefined> {
  return owner === null ? undefined : (await manager.findOneByOrFail(MerchantEntity, { id: owner })).timeZone;
}

async function lockRule(manager: EntityManager, owner: RuleOwner, id: string, expected: Expected): Promise<RuleEntity> {
  const rule = await manager.findOne(RuleEntity, { where: { id, ...ownedBy(owner) }, lock: { mode: 'pessimistic_write' } });
  if (!rule) throw new RuleNotFoundError(id);
  if (!isExpected(expected, rule.version)) throw new VersionConflictError(rule.version);
  return rule;
}

/** Called when a write has passed all other checks, within its transaction, which then ends without a trace. @throws ApprovalWantedError */
function demandApproval(owner: RuleOwner, before: RuleEntity, after: RuleSpec | null, action: RuleAction, by: Actor): void {
  if (by.approval !== undefined || !isProtected(before.labels)) return;
  throw new ApprovalWantedError([proposal(owner, before, after, action)]);
}

/** The same for many edits at once. */
function demandApprovals(edits: readonly RuleEdits[], by: Actor): void {
  if (by.approval !== undefined) return;
  const wanted: ProposedChange[] = [];
  for (const { owner, deleted, replaced } of edits) {
    for (const before of deleted) if (isProtected(before.labels)) wanted.push(proposal(owner, before, null, 'rule.deleted'));
    for (const { before, spec } of replaced) if (isProtected(before.labels)) wanted.push(proposal(owner, before, spec, 'rule.replaced'));
  }
  if (wanted.length > 0) throw new ApprovalWantedError(wanted);
}

function proposal(owner: RuleOwner, before: RuleEntity, after: RuleSpec | null, action: RuleAction): ProposedChange {
  return { action, merchantId: owner, ruleId: before.id, version: before.version, before, after };
}

type RuleAction = 'rule.replaced' | 'rule.reverted' | 'rule.deleted';

async function nameTaken<T>(name: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint === RULE_NAME_OF_MERCHANT || constraint === RULE_NAME_OF_DEFAULT) throw new RuleNameTakenError(name);
    throw error;
  }
}

/** The database gives ids out itself; only a rule that comes back brings its own. */
async function insertWithId(
  manager: EntityManager,
  id: string,
  values: Omit<CompleteRule, 'limits'> & Pick<RuleEntity, 'limits' | 'merchantId' | 'version'>,
): Promise<void> {
  const { merchantId, name, layer, priority, enabled, mode, match, key, limits, cost, onStoreFailure, penalty, note, labels, version } =
    values;
  const { validFrom, validTo, schedule, language } = values;
  await manager.query(
    `INSERT INTO rule (id, merchant_id, name, layer, priority, enabled, mode, match, key, limits, cost, on_store_failure, penalty, note, labels, version, valid_from, valid_to, schedule, language)
     OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`,
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
    ],
  );
}
