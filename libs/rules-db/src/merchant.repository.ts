import { DataSource, type EntityManager, In, MoreThan } from 'typeorm';
import { type Labels, moveLimits } from '#limiter';
import { violatedConstraint, violatedForeignKey } from './availability.js';
import { type Actor, type Expected, isExpected } from './change.js';
import { DeletedMerchantEntity } from './deleted-merchant.entity.js';
import { MerchantExistsError, MerchantNotFoundError, UnknownPlanError, VersionConflictError } from './errors.js';
import { MerchantApiKeyEntity } from './merchant-api-key.entity.js';
import { MERCHANT_PLAN, MerchantEntity } from './merchant.entity.js';
import { OverrideEntity } from './override.entity.js';
import { demandNoneProtected } from './protected-rule.js';
import { chunksOf, insertRows, updateRows } from './row-sets.js';
import { RuleEntity } from './rule.entity.js';
import { isReadableRule } from './stored-row.js';
import { separateTransactions, type Transactions } from './transactions.js';

/** The fields of a merchant that an administrator writes. */
export interface MerchantSpec {
  readonly id: string;
  readonly name: string;
  readonly timeZone: string;
  readonly labels?: Labels;
  /** Null: none. */
  readonly plan?: string | null;
}

export type MerchantChanges = Partial<Omit<MerchantSpec, 'id'>>;

/** A merchant as it was read, and what changes. */
export interface MerchantEdit {
  readonly before: MerchantEntity;
  readonly changes: MerchantChanges;
}

/** Which merchants of the list. What is not given says nothing. */
export interface MerchantFilter {
  /** The name begins with it, whatever the case. */
  readonly namePrefix?: string | undefined;
  readonly label?: { readonly key: string; readonly value: string } | undefined;
  /** It has this label, or one of its rules has. */
  readonly labelledInPart?: { readonly key: string; readonly value: string } | undefined;
  readonly plan?: string | undefined;
  /** Only these; null: all. */
  readonly among?: readonly string[] | null | undefined;
}

/** How many merchants one statement locks, so that it ends within the time-out of statements. */
const LOCKED_AT_ONCE = 1_000;

/** Merchants in PostgreSQL. Each write is one transaction with its version, audit row and outbox row, or part of one. */
export class MerchantRepository {
  private readonly transactions: Transactions;

  /**
   * @param database a transaction that the caller began, or the database: then each write is a transaction of its own
   * @param nowMs the clock for the start of limits, in milliseconds since 1970; it is read while the merchant is locked
   */
  constructor(
    database: DataSource | Transactions,
    private readonly nowMs: () => number = Date.now,
  ) {
    this.transactions = database instanceof DataSource ? separateTransactions(database) : database;
  }

  /** Creates a merchant. Its version continues from that of a deleted merchant with this id. @throws MerchantExistsError, UnknownPlanError */
  async create(spec: MerchantSpec, by: Actor): Promise<MerchantEntity> {
    return this.transactions.run(async (manager, record) => {
      // The insert comes before the tombstone is read, because it waits for a deletion that is not committed yet.
      await insertNew(manager, spec);
      const version = (await takeTombstone(manager, spec.id)) + 1;
      await manager.update(MerchantEntity, { id: spec.id }, { version, rulesVersion: version });
      const created = await manager.findOneByOrFail(MerchantEntity, { id: spec.id });
      record({ merchantId: spec.id, action: 'merchant.created', before: null, after: created, version, by });
      return created;
    });
  }

  /** The merchant, or null. */
  async find(id: string): Promise<MerchantEntity | null> {
    return this.transactions.manager.findOneBy(MerchantEntity, { id });
  }

  /** At most `limit` merchants by id, from the first one after `after`. */
  async list({
    after,
    limit,
    namePrefix,
    label,
    labelledInPart,
    plan,
    among = null,
  }: MerchantFilter & { after?: string | undefined; limit: number }): Promise<MerchantEntity[]> {
    const query = this.transactions.manager.createQueryBuilder(MerchantEntity, 'merchant');
    if (after !== undefined) query.andWhere('merchant.id > :after', { after });
    if (among !== null) query.andWhere('merchant.id = ANY(:among)', { among });
    if (namePrefix !== undefined) query.andWhere(`lower(merchant.name) LIKE lower(:name) || '%'`, { name: withoutWildcards(namePrefix) });
    if (plan !== undefined) query.andWhere('merchant.plan = :plan', { plan });
    // The second condition is that of the index.
    if (label)
      query.andWhere(`merchant.labels @> :label AND merchant.labels <> '{}'`, { label: JSON.stringify({ [label.key]: label.value }) });
    if (labelledInPart)
      query.andWhere(
        '(merchant.labels @> :part OR EXISTS (SELECT 1 FROM rule WHERE rule.merchant_id = merchant.id AND rule.labels @> :part))',
        { part: JSON.stringify({ [labelledInPart.key]: labelledInPart.value }) },
      );
    return query.orderBy('merchant.id', 'ASC').limit(limit).getMany();
  }

  /** The number of merchants. */
  async count(): Promise<number> {
    return this.transactions.manager.count(MerchantEntity);
  }

  /** Locks those of these merchants that exist until the transaction ends, by id, so that two callers never wait for each other. */
  async lock(ids: readonly string[]): Promise<void> {
    for (const some of chunksOf([...ids].sort(byBytes), LOCKED_AT_ONCE))
      await this.transactions.manager.query('SELECT 1 FROM merchant WHERE id = ANY($1) ORDER BY id FOR UPDATE', [some]);
  }

  /**
   * Changes a merchant. A new time zone is an edit of the limits that follow it: live buckets keep their content.
   *
   * @param spec what changes, or what makes it from the merchant as it stands. It is called while the merchant is locked; if it throws, nothing is changed.
   * @throws MerchantNotFoundError, VersionConflictError, UnknownPlanError
   */
  async update(
    id: string,
    expected: Expected,
    spec: MerchantChanges | ((before: MerchantEntity) => MerchantChanges),
    by: Actor,
  ): Promise<MerchantEntity> {
    return this.transactions.run(async (manager, record) => {
      const { merchant: before, rulesVersion } = await lockForWrite(manager, id, expected);
      const changes = typeof spec === 'function' ? spec(before) : spec;
      const where = { id, version: before.version };
      const { affected } = await knownPlan(
        changes.plan,
        manager.update(MerchantEntity, where, { ...changes, version: before.version + 1 }),
      );
      if (affected !== 1) throw new VersionConflictError(before.version);
      if (changes.timeZone !== undefined) await moveRules(manager, before, changes.timeZone, this.nowMs());
      const after = await manager.findOneByOrFail(MerchantEntity, { id });
      record({ merchantId: id, action: 'merchant.updated', before, after, version: rulesVersion, by });
      return after;
    });
  }

  /** Creates merchants of different ids, some hundred at most, in a few statements. @throws MerchantExistsError, UnknownPlanError */
  async createAll(specs: readonly MerchantSpec[], by: Actor): Promise<void> {
    await this.transactions.run(async (manager, record) => {
      const ids = specs.map(({ id }) => id);
      const inserted = await createdAll(
        specs,
        insertRows<MerchantEntity, 'id' | 'createdAt' | 'updatedAt'>(
          manager,
          MerchantEntity,
          specs.map((spec) => ({ ...complete(spec), version: 1, rulesVersion: 1 })),
          ['id', 'createdAt', 'updatedAt'],
        ),
      );
      const versions = await takeTombstones(manager, ids);
      const continued = [...versions].map(([id, last]) => ({ id, version: last + 1, rulesVersion: last + 1 }));
      await updateRows<MerchantEntity, never>(manager, MerchantEntity, continued, { keys: ['id'], returning: [] });
      const times = new Map(inserted.map((row) => [row.id, row]));
      for (const spec of specs) {
        const version = (versions.get(spec.id) ?? 0) + 1;
        const after = { ...complete(spec), version, rulesVersion: version, ...times.get(spec.id) };
        record({ merchantId: spec.id, action: 'merchant.created', before: null, after, version, by });
      }
    });
  }

  /**
   * Changes merchants that the caller has locked, in a few statements.
   * @throws VersionConflictError if one of them is not what was read, UnknownPlanError
   */
  async updateAll(changed: readonly MerchantEdit[], by: Actor): Promise<void> {
    await this.transactions.run(async (manager, record) => {
      const ids = changed.map(({ before }) => before.id);
      const raised = await raiseRulesVersions(manager, ids);
      const updated = await knownPlan(
        plansOf(changed.map(({ changes }) => changes)),
        updateRows<MerchantEntity, 'id' | 'updatedAt'>(manager, MerchantEntity, changed.map(editedRow(changed)), {
          keys: ['id'],
          raises: 'version',
          returning: ['id', 'updatedAt'],
        }),
      );
      const times = new Map(updated.map(({ id, updatedAt }) => [id, updatedAt]));
      for (const { before, changes } of changed) {
        const [rulesVersion, updatedAt] = [raised.get(before.id), times.get(before.id)];
        if (rulesVersion === undefined || updatedAt === undefined) throw new MerchantNotFoundError(before.id);
        if (changes.timeZone !== undefined) await moveRules(manager, before, changes.timeZone, this.nowMs());
        const after = { ...before, ...changes, version: before.version + 1, rulesVersion, updatedAt };
        record({
          merchantId: before.id,
          action: 'merchant.updated',
          before: { ...before, rulesVersion },
          after,
          version: rulesVersion,
          by,
        });
      }
    });
  }

  /**
   * Deletes merchants with their rules and API keys, some hundred at most, in a few statements. Those that are not there are not looked for.
   * @throws ApprovalWantedError if one of the rules is protected
   */
  async deleteAll(ids: readonly string[], by: Actor): Promise<void> {
    await this.lock(ids);
    await this.transactions.run(async (manager, record) => {
      const found = [...(await raiseRulesVersions(manager, ids)).keys()];
      const merchants = await manager.find(MerchantEntity, { where: { id: In(found) }, order: { id: 'ASC' } });
      const all = await manager.findBy(RuleEntity, { merchantId: In(found) });
      demandNoneProtected(all);
      const rules = byMerchant(all);
      const apiKeys = byMerchant(await manager.findBy(MerchantApiKeyEntity, { merchantId: In(found) }));
      const tombstones = merchants.map(({ id, rulesVersion }) => ({ merchantId: id, rulesVersion }));
      await insertRows<DeletedMerchantEntity>(manager, DeletedMerchantEntity, tombstones);
      await manager.query('DELETE FROM merchant WHERE id = ANY($1)', [found]);
      await endOverrides(manager, found, this.nowMs());
      for (const merchant of merchants) {
        const { id: merchantId, rulesVersion: version } = merchant;
        const before = deletedMerchant(merchant, rules.get(merchantId), apiKeys.get(merchantId));
        record({ merchantId, action: 'merchant.deleted', before, after: null, version, by });
      }
    });
  }

  /** Deletes the merchant with its rules and API keys. @throws MerchantNotFoundError, VersionConflictError; ApprovalWantedError if one of the rules is protected: it has to be deleted first */
  async delete(id: string, expected: Expected, by: Actor): Promise<void> {
    await this.transactions.run(async (manager, record) => {
      const { merchant, rulesVersion } = await lockForWrite(manager, id, expected);
      const rules = await manager.findBy(RuleEntity, { merchantId: id });
      const apiKeys = await manager.findBy(MerchantApiKeyEntity, { merchantId: id });
      demandNoneProtected(rules);
      await manager.insert(DeletedMerchantEntity, { merchantId: id, rulesVersion });
      await manager.delete(MerchantEntity, { id });
      await endOverrides(manager, [id], this.nowMs());
      const before = deletedMerchant(merchant, rules, apiKeys);
      record({ merchantId: id, action: 'merchant.deleted', before, after: null, version: rulesVersion, by });
    });
  }
}

/** The order of ids in the database, whose collation is C. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/**
 * Raises the version of a merchant's snapshot and returns it. The merchant's row is locked until the transaction ends.
 *
 * @throws MerchantNotFoundError
 */
export async function raiseRulesVersion(manager: EntityManager, merchantId: string): Promise<number> {
  const version = (await raiseRulesVersions(manager, [merchantId])).get(merchantId);
  if (version === undefined) throw new MerchantNotFoundError(merchantId);
  return version;
}

/** The same for several merchants, which the caller has locked if they are more than one; those that are not there are left out. */
export async function raiseRulesVersions(manager: EntityManager, ids: readonly string[]): Promise<Map<string, number>> {
  const [rows] = (await manager.query(
    'UPDATE merchant SET rules_version = rules_version + 1 WHERE id = ANY($1) RETURNING id, rules_version',
    [ids],
  )) as [{ id: string; rules_version: string }[], number];
  return new Map(rows.map(({ id, rules_version: version }) => [id, Number(version)]));
}

/** A merchant in the audit, with what goes with it. */
function deletedMerchant(
  merchant: MerchantEntity,
  rules: readonly RuleEntity[] = [],
  apiKeys: readonly MerchantApiKeyEntity[] = [],
): object {
  return { ...merchant, rules, ...(apiKeys.length > 0 && { apiKeys }) };
}

function byMerchant<T extends { readonly merchantId: string | null }>(rows: readonly T[]): Map<string | null, T[]> {
  const groups = new Map<string | null, T[]>();
  for (const row of rows) {
    const group = groups.get(row.merchantId);
    if (group) group.push(row);
    else groups.set(row.merchantId, [row]);
  }
  return groups;
}

/** What a merchant is created without. */
function complete(spec: MerchantSpec): Required<MerchantSpec> {
  return { ...spec, labels: spec.labels ?? {}, plan: spec.plan ?? null };
}

/** Rows of one statement name the same columns: all that any of the edits changes. */
function editedRow(edits: readonly MerchantEdit[]): (edit: MerchantEdit) => Partial<MerchantEntity> {
  const names = [...new Set(edits.flatMap(({ changes }) => Object.keys(changes)))];
  return ({ before, changes }) => {
    const values = { ...before, ...changes } as Readonly<Record<string, unknown>>;
    return { id: before.id, version: before.version + 1, ...Object.fromEntries(names.map((name) => [name, values[name]])) };
  };
}

/** Moves the limits that follow the merchant's calendar to its new time zone. The rules keep their versions, as no administrator wrote them. */
async function moveRules(manager: EntityManager, { id, timeZone }: MerchantEntity, to: string, atMs: number): Promise<void> {
  for (const rule of await manager.findBy(RuleEntity, { merchantId: id })) {
    if (!isReadableRule(rule)) continue;
    const limits = moveLimits(rule.limits, timeZone, to, atMs);
    if (limits !== rule.limits) await manager.update(RuleEntity, { id: rule.id }, { limits: [...limits] });
  }
}

/** A merchant that comes back has none of them; buckets of default rules remember that there were some. */
async function endOverrides(manager: EntityManager, merchantIds: readonly string[], atMs: number): Promise<void> {
  const at = new Date(atMs);
  await manager.update(
    OverrideEntity,
    { merchantId: In([...merchantIds]), untilAt: MoreThan(at) },
    { untilAt: at, deleted: true, endRecorded: true },
  );
}

/** Escapes what LIKE would take for a wildcard. */
function withoutWildcards(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

async function lockForWrite(manager: EntityManager, id: string, expected: Expected) {
  const rulesVersion = await raiseRulesVersion(manager, id);
  const merchant = await manager.findOneByOrFail(MerchantEntity, { id });
  if (!isExpected(expected, merchant.version)) throw new VersionConflictError(merchant.version);
  return { merchant, rulesVersion };
}

async function insertNew(manager: EntityManager, spec: MerchantSpec): Promise<void> {
  await knownPlan(spec.plan, idTaken(spec.id, manager.insert(MerchantEntity, { ...spec, version: 0, rulesVersion: 0 })));
}

async function idTaken<T>(id: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (violatedConstraint(error) === 'merchant_pkey') throw new MerchantExistsError(id);
    throw error;
  }
}

async function createdAll<T>(specs: readonly MerchantSpec[], write: Promise<T>): Promise<T> {
  return knownPlan(plansOf(specs), idTaken(specs.map(({ id }) => id).join(', '), write));
}

/** The plans that these merchants get, for an error. */
function plansOf(changes: readonly MerchantChanges[]): string {
  return [...new Set(changes.map(({ plan }) => plan).filter((plan) => typeof plan === 'string'))].join(', ');
}

async function knownPlan<T>(plan: string | null | undefined, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (violatedForeignKey(error) === MERCHANT_PLAN) throw new UnknownPlanError(String(plan));
    throw error;
  }
}

/**
 * Removes the tombstone of a merchant with this id and returns its last version, 0 if there is none. The version of the row continues
 * from there as well, so that no old ETag fits the new merchant.
 */
async function takeTombstone(manager: EntityManager, merchantId: string): Promise<number> {
  return (await takeTombstones(manager, [merchantId])).get(merchantId) ?? 0;
}

async function takeTombstones(manager: EntityManager, ids: readonly string[]): Promise<Map<string, number>> {
  const [rows] = (await manager.query('DELETE FROM deleted_merchant WHERE merchant_id = ANY($1) RETURNING merchant_id, rules_version', [
    ids,
  ])) as [{ merchant_id: string; rules_version: string }[], number];
  return new Map(rows.map(({ merchant_id: id, rules_version: version }) => [id, Number(version)]));
}
