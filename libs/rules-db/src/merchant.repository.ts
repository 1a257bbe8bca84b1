import { DataSource, type EntityManager } from 'typeorm';
import { type Actor, type ExpectedVersions, isExpected } from './change.js';
import { DeletedMerchantEntity } from './deleted-merchant.entity.js';
import { VersionConflictError } from './errors.js';
import { MerchantApiKeyEntity } from './merchant-api-key.entity.js';
import { createMerchants, deleteMerchants, type MerchantEdit, updateMerchants } from './merchant-edits.js';
import { deletedMerchant, endOverrides, idTaken, knownPlan, type MerchantChanges, type MerchantSpec, moveRules } from './merchant-row.js';
import { idsThatFit } from './merchant-search.js';
import { MerchantEntity } from './merchant.entity.js';
import { type MerchantLabel, type MerchantReach, withinReach } from './merchant-reach.js';
import { demandNoneProtected } from './protected-rule.js';
import { chunksOf } from './row-sets.js';
import { RuleEntity } from './rule.entity.js';
import { raiseRulesVersion, takeTombstone } from './rules-version.js';
import { separateTransactions, type Transactions } from './transactions.js';

/** Which merchants of the list. What is not given says nothing. */
export interface MerchantFilter {
  /** The name begins with it, whatever the case. */
  readonly namePrefix?: string | undefined;
  readonly label?: MerchantLabel | undefined;
  /** It has this label as well. */
  readonly secondLabel?: MerchantLabel | undefined;
  /** It has this label, or one of its rules has. */
  readonly labelledInPart?: MerchantLabel | undefined;
  readonly plan?: string | undefined;
  /** Only these; null: all. */
  readonly among?: MerchantReach | undefined;
}

/** How many merchants one statement looks up. */
const LOOKED_UP_AT_ONCE = 5_000;

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
    secondLabel,
    labelledInPart,
    plan,
    among = null,
  }: MerchantFilter & { after?: string | undefined; limit: number }): Promise<MerchantEntity[]> {
    const query = this.transactions.manager.createQueryBuilder(MerchantEntity, 'merchant');
    if (after !== undefined) query.andWhere('merchant.id > :after', { after });
    const within = withinReach('merchant.id', among);
    if (within) query.andWhere(within.condition, within.parameters);
    const { conditions, labelled, parameters } = filtersOf({ namePrefix, label, secondLabel, plan });
    // The index of plans has the order of the list, and those among whom to look are few.
    const isSearch = (namePrefix !== undefined || label !== undefined) && among === null && labelledInPart === undefined;
    if (isSearch) {
      const search = idsThatFit({ conditions, labelled, isAfter: after !== undefined, namePrefix });
      query.andWhere(`merchant.id IN ${search}`, { ...parameters, start: namePrefix, limit });
    } else for (const condition of [...conditions, ...(labelled === undefined ? [] : [labelled])]) query.andWhere(condition, parameters);
    if (labelledInPart) {
      const { key: labelKey, value: labelValue } = labelledInPart;
      query.andWhere(inPart(after, withinReach('merchant_id', among)?.condition), {
        part: JSON.stringify({ [labelKey]: labelValue }),
        labelKey,
        labelValue,
        limit,
      });
    }
    return query.orderBy('merchant.id', 'ASC').limit(limit).getMany();
  }

  /** Which of these merchants have a label. */
  async labelledAmong(ids: readonly string[], { key, value }: MerchantLabel): Promise<string[]> {
    const rows = await this.transactions.manager.query<{ id: string }[]>(
      'SELECT merchant_id AS id FROM merchant_label WHERE key = $1 AND value = $2 AND merchant_id = ANY($3)',
      [key, value, ids],
    );
    return rows.map(({ id }) => id);
  }

  /** Which of these merchants are within reach, where that is a label; otherwise the reach itself, which says so by itself. */
  async narrowed(reach: MerchantReach, ids: readonly string[]): Promise<readonly string[] | null> {
    return reach === null || !('key' in reach) ? reach : this.labelledAmong(ids, reach);
  }

  /** Those of the items whose merchants have the label, in their order. */
  async ofLabelled<T extends { readonly merchantId: string }>(items: readonly T[], label: MerchantLabel): Promise<T[]> {
    const labelled = new Set<string>();
    for (const ids of chunksOf([...new Set(items.map(({ merchantId }) => merchantId))], LOOKED_UP_AT_ONCE))
      for (const id of await this.labelledAmong(ids, label)) labelled.add(id);
    return items.filter(({ merchantId }) => labelled.has(merchantId));
  }

  /** At most `limit` merchants that have a label. */
  async labelled({ key, value }: MerchantLabel, limit: number): Promise<string[]> {
    const rows = await this.transactions.manager.query<{ id: string }[]>(
      'SELECT merchant_id AS id FROM merchant_label WHERE key = $1 AND value = $2 ORDER BY merchant_id LIMIT $3',
      [key, value, limit],
    );
    return rows.map(({ id }) => id);
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
    expected: ExpectedVersions,
    spec: MerchantChanges | ((before: MerchantEntity) => MerchantChanges),
    by: Actor,
    action: 'merchant.updated' | 'merchant.reverted' = 'merchant.updated',
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
      record({ merchantId: id, action, before, after, version: rulesVersion, by });
      return after;
    });
  }

  /** Creates merchants of different ids, some hundred at most, in a few statements. @throws MerchantExistsError, UnknownPlanError */
  async createAll(specs: readonly MerchantSpec[], by: Actor): Promise<void> {
    await this.transactions.run((manager, record) => createMerchants(manager, specs, { by, record }));
  }

  /**
   * Changes merchants that the caller has locked, in a few statements.
   * @throws VersionConflictError if one of them is not what was read, UnknownPlanError
   */
  async updateAll(changed: readonly MerchantEdit[], by: Actor): Promise<void> {
    await this.transactions.run((manager, record) => updateMerchants(manager, changed, this.nowMs, { by, record }));
  }

  /**
   * Deletes merchants with their rules and API keys, some hundred at most, in a few statements. Those that are not there are not looked for.
   * @throws ApprovalWantedError if one of the rules is protected
   */
  async deleteAll(ids: readonly string[], by: Actor): Promise<void> {
    await this.lock(ids);
    await this.transactions.run((manager, record) => deleteMerchants(manager, ids, this.nowMs, { by, record }));
  }

  /** Deletes the merchant with its rules and API keys. @throws MerchantNotFoundError, VersionConflictError; ApprovalWantedError if one of the rules is protected: it has to be deleted first */
  async delete(id: string, expected: ExpectedVersions, by: Actor): Promise<void> {
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

function filtersOf({ namePrefix, label, secondLabel, plan }: Pick<MerchantFilter, 'namePrefix' | 'label' | 'secondLabel' | 'plan'>) {
  const conditions: string[] = [];
  if (namePrefix !== undefined) conditions.push(`lower(merchant.name) LIKE lower(:name) || '%'`);
  if (plan !== undefined) conditions.push('merchant.plan = :plan');
  if (secondLabel !== undefined) conditions.push('merchant.labels @> :secondLabel');
  const second = secondLabel && JSON.stringify({ [secondLabel.key]: secondLabel.value });
  const name = namePrefix === undefined ? undefined : withoutWildcards(namePrefix);
  if (label === undefined) return { conditions, labelled: undefined, parameters: { name, plan, secondLabel: second } };
  // The second condition is that of the index.
  const labelled = `merchant.labels @> :label AND merchant.labels <> '{}'`;
  const byLabel = { label: JSON.stringify({ [label.key]: label.value }), labelKey: label.key, labelValue: label.value };
  return { conditions, labelled, parameters: { name, plan, secondLabel: second, ...byLabel } };
}

/** The order of ids in the database, whose collation is C. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/**
 * Which merchants have a label themselves, or in one of their rules. Both are looked for by indexes of their own and only as far as a page goes: one condition
 * about both would look at every rule there is for each page.
 */
function inPart(after: string | undefined, within: string | undefined): string {
  const which = `${after === undefined ? '' : ' AND merchant_id > :after'}${within === undefined ? '' : ` AND ${within}`}`;
  const page = 'ORDER BY merchant_id LIMIT :limit';
  return `merchant.id IN (
    (SELECT merchant_id FROM merchant_label WHERE key = :labelKey AND value = :labelValue${which} ${page})
    UNION
    (SELECT DISTINCT merchant_id FROM rule WHERE labels @> :part AND labels <> '{}' AND merchant_id IS NOT NULL${which} ${page}))`;
}

/** Escapes what LIKE would take for a wildcard. */
function withoutWildcards(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&');
}

async function lockForWrite(manager: EntityManager, id: string, expected: ExpectedVersions) {
  const rulesVersion = await raiseRulesVersion(manager, id);
  const merchant = await manager.findOneByOrFail(MerchantEntity, { id });
  if (!isExpected(expected, merchant.version)) throw new VersionConflictError(merchant.version);
  return { merchant, rulesVersion };
}

async function insertNew(manager: EntityManager, spec: MerchantSpec): Promise<void> {
  await knownPlan(spec.plan, idTaken(spec.id, manager.insert(MerchantEntity, { ...spec, version: 0, rulesVersion: 0 })));
}
