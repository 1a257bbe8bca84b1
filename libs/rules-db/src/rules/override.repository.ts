import { DataSource, type EntityManager, MoreThan } from 'typeorm';
import {
  canBeOverridden,
  concerns,
  type Limit,
  type LimitBefore,
  MOST_OVERRIDDEN_GENERATION,
  MOST_OVERRIDES_OF_RULE,
  MOST_PERIODS,
  overrideFactor,
  overrideFaults,
  type OverrideNumbers,
  type RuleOrigin,
} from '#limiter';
import type { Actor } from '../changes/change.js';
import { recordChanges } from '../changes/change-log.js';
import {
  OverrideConflictError,
  OverrideFaultsError,
  OverrideNotFoundError,
  RuleNotFoundError,
  VersionConflictError,
} from '../connection/errors.js';
import { demandApprovalOfOverride, type ProposedChange } from '../changes/protected-rule.js';
import { MerchantEntity } from '../merchants/merchant.entity.js';
import { raiseRulesVersion } from './rules-version.js';
import { type NamedNumbers, OverrideEntity } from './override.entity.js';
import { RuleEntity } from './rule.entity.js';
import { ownedBy, type RuleOwner } from './rule-owner.js';
import { isReadableRule } from './stored-row.js';
import { separateTransactions, type Transactions } from '../connection/transactions.js';

/** The maximum number of overrides of one merchant that are active at the same time. */
export const MAX_ACTIVE_OVERRIDES = 50;

export interface OverrideSpec {
  readonly ruleId: string;
  /** A factor, or the numbers of limits by their names. */
  readonly numbers: { readonly multiply: number } | { readonly limits: readonly Omit<NamedNumbers, 'limitId'>[] };
  readonly untilMs: number;
  readonly reason: string | null;
  /** Of the rule, if it was approved for this one. */
  readonly ruleVersion?: number;
}

/** Overrides in PostgreSQL. Each write is one transaction with the merchant's version, audit row and outbox row. */
export class OverrideRepository {
  private readonly transactions: Transactions;

  /**
   * @param nowMs the clock, in milliseconds since 1970; it is read while the merchant is locked
   * @param allowedFactor an override by which a number grows more waits for a second administrator
   */
  constructor(
    database: DataSource | Transactions,
    private readonly nowMs: () => number = Date.now,
    private readonly allowedFactor: number = Infinity,
  ) {
    this.transactions = database instanceof DataSource ? separateTransactions(database) : database;
  }

  /**
   * Begins an override, now.
   * @throws MerchantNotFoundError, RuleNotFoundError, VersionConflictError, OverrideConflictError, OverrideFaultsError; ApprovalWantedError if one
   * administrator is not enough
   */
  async create(merchantId: string, spec: OverrideSpec, by: Actor): Promise<OverrideEntity> {
    const { ruleId, numbers, untilMs, reason, ruleVersion } = spec;
    return this.transactions.run(async (manager, record) => {
      const version = await raiseRulesVersion(manager, merchantId);
      const rule = await overridableRule(manager, merchantId, ruleId);
      if (ruleVersion !== undefined && ruleVersion !== rule.version) throw new VersionConflictError(rule.version);
      const nowMs = this.nowMs();
      const last = await lastOf(manager, merchantId, ruleId);
      demandRoom(rule, last, await activeCount(manager, merchantId, nowMs), nowMs);
      const written = numbersOf(rule, numbers);
      const number = (last?.number ?? 0) + 1;
      const fromMs = beginning(rule, last, nowMs);
      if (untilMs <= fromMs) throw new OverrideFaultsError([{ at: 'until', detail: 'must be in the future' }]);
      demandApprovalOfOverride(
        proposalOf(merchantId, spec, rule),
        { labels: rule.labels, factor: overrideFactor(rule, written), allowedFactor: this.allowedFactor },
        by,
      );
      await manager.update(OverrideEntity, { merchantId, ruleId, number: number - MOST_PERIODS - 1 }, { remembered: false });
      const { identifiers } = await manager.insert(OverrideEntity, {
        merchantId,
        ruleId,
        number,
        multiply: 'multiply' in written ? written.multiply : null,
        limits: 'limits' in written ? written.limits : null,
        limitsBefore: rule.limits.map((limit) => limitBefore(limit, last)),
        fromAt: new Date(fromMs),
        untilAt: new Date(untilMs),
        reason,
        createdBy: by.name,
      });
      const after = await manager.findOneByOrFail(OverrideEntity, { id: (identifiers[0] as { id: string }).id });
      record({ merchantId, ruleId, action: 'override.created', before: null, after: recorded(after), version, by });
      return after;
    });
  }

  /** The override, or null if the merchant has none with this id; also one that has ended. */
  async find(merchantId: string, id: string): Promise<OverrideEntity | null> {
    return this.transactions.manager.findOneBy(OverrideEntity, { merchantId, id });
  }

  /** At most `limit` overrides in the order of their creation, from the first one after `after`; those that have ended included. */
  async list(merchantId: string, { after, limit }: { after?: string | undefined; limit: number }): Promise<OverrideEntity[]> {
    return this.transactions.manager.find(OverrideEntity, {
      where: { merchantId, ...(after !== undefined && { id: MoreThan(after) }) },
      order: { id: 'ASC' },
      take: limit,
    });
  }

  /** Whether any override of the rule was in force for the merchant since then. */
  async wasActiveSince(merchantId: string, ruleId: string, since: Date): Promise<boolean> {
    return this.transactions.manager.existsBy(OverrideEntity, { merchantId, ruleId, untilAt: MoreThan(since) });
  }

  /** Ends an override now. One that has ended stays as it is. @throws MerchantNotFoundError, OverrideNotFoundError */
  async delete(merchantId: string, id: string, by: Actor): Promise<void> {
    await this.transactions.run(async (manager, record) => {
      const version = await raiseRulesVersion(manager, merchantId);
      const before = await manager.findOneBy(OverrideEntity, { merchantId, id });
      if (!before) throw new OverrideNotFoundError(id);
      const nowMs = this.nowMs();
      if (before.untilAt.getTime() <= nowMs) return;
      const rule = await manager.findOneBy(RuleEntity, { id: before.ruleId });
      // Behind the edits that were before it, whatever their clocks said.
      const edits = rule && isReadableRule(rule) ? rule.limits.map(({ since }) => since.atMs + 1) : [];
      const untilMs = Math.ceil(Math.max(nowMs, before.fromAt.getTime(), ...edits));
      await manager.update(OverrideEntity, { id }, { untilAt: new Date(untilMs), deleted: true, endRecorded: true });
      const after = await manager.findOneByOrFail(OverrideEntity, { id });
      const change = { merchantId, ruleId: before.ruleId, action: 'override.deleted' as const, version, by };
      record({ ...change, before: recorded(before), after: recorded(after) });
    });
  }
}

/** The actor in the audit where an override has ended by itself. */
const NOBODY: Actor = { name: 'tollgate' };

/**
 * Writes into the audit that overrides have ended, at most so many of them. They end without it: gateways know their times. Several processes may do
 * it at once, and each end is written down once.
 *
 * @returns how many ends were written down
 */
export async function recordEndedOverrides(dataSource: DataSource, max: number): Promise<number> {
  return dataSource.transaction(async (manager) => {
    const ended = await manager
      .createQueryBuilder(OverrideEntity, 'o')
      .where('NOT o.end_recorded AND o.until_at <= now()')
      .orderBy('o.until_at')
      .limit(max)
      .setLock('pessimistic_write')
      .setOnLocked('skip_locked')
      .getMany();
    if (ended.length === 0) return 0;
    await manager.query('UPDATE rule_override SET end_recorded = true WHERE id = ANY($1)', [ended.map(({ id }) => id)]);
    await recordChanges(
      manager,
      ended.map((before) => {
        const change = { merchantId: before.merchantId, ruleId: before.ruleId, action: 'override.ended' as const, by: NOBODY };
        return { ...change, before: { ...recorded(before), state: 'active' }, after: { ...recorded(before), state: 'ended' } };
      }),
    );
    return ended.length;
  });
}

/** The rule that a merchant has under this id, its own or one that it shares: the one place that says which rules concern a merchant. @throws RuleNotFoundError */
async function overridableRule(manager: EntityManager, merchantId: string, id: string): Promise<RuleEntity> {
  const { plan } = await manager.findOneByOrFail(MerchantEntity, { id: merchantId });
  const owners: readonly RuleOwner[] = [merchantId, ...(plan === null ? [] : [{ plan }]), null];
  const rule = await manager.findOne(RuleEntity, { where: owners.map((owner) => ({ id, ...ownedBy(owner) })) });
  if (!rule) throw new RuleNotFoundError(id);
  if (!isReadableRule(rule)) throw new OverrideConflictError('unreadable', `rule ${id} cannot be read, so nothing of it can be overridden`);
  if (!canBeOverridden(rule, originOf(rule))) {
    const detail = `the key of rule ${id} does not have merchant: its buckets are those of several merchants, and cannot have other numbers for one`;
    throw new OverrideConflictError('shared', detail);
  }
  return rule;
}

function originOf({ merchantId, plan }: RuleEntity): RuleOrigin {
  if (merchantId !== null) return 'own';
  return plan === null ? 'default' : 'plan';
}

function demandRoom(rule: RuleEntity, last: OverrideEntity | null, active: number, nowMs: number): void {
  if (last && last.untilAt.getTime() > nowMs && !last.deleted) {
    const detail = `override ${last.id} of this rule is active until ${last.untilAt.toISOString()}; delete it first`;
    throw new OverrideConflictError('active', detail);
  }
  if (active >= MAX_ACTIVE_OVERRIDES)
    throw new OverrideConflictError('too_many', `there may be at most ${MAX_ACTIVE_OVERRIDES} active overrides of a merchant`);
  const isWorn =
    (last?.number ?? 0) >= MOST_OVERRIDES_OF_RULE || rule.limits.some(({ generation }) => generation > MOST_OVERRIDDEN_GENERATION);
  if (isWorn) {
    const detail = `rule ${rule.id} was edited and overridden as often as can be told apart; replace it by a new rule`;
    throw new OverrideConflictError('worn', detail);
  }
}

/** By the ids of limits, which stay when names change. @throws OverrideFaultsError */
function numbersOf(rule: RuleEntity, numbers: OverrideSpec['numbers']): { multiply: number } | { limits: NamedNumbers[] } {
  const written =
    'multiply' in numbers ? numbers : { limits: numbers.limits.map((each, i) => ({ ...each, limitId: limitNamed(rule, each.name, i) })) };
  const [first] = overrideFaults(rule, written);
  if (first === undefined) return written;
  throw new OverrideFaultsError(
    overrideFaults(rule, written).map(({ limit, fault }) => ({
      at: 'multiply' in written ? 'multiply' : `limits/${written.limits.findIndex(({ limitId }) => limitId === limit.id)}/${fault.field}`,
      detail: 'multiply' in written ? `makes the limit ${limit.name} none: ${fault.field} ${fault.detail}` : fault.detail,
      code: fault.code,
    })),
  );
}

function limitNamed({ limits }: RuleEntity, name: string, index: number): number {
  const limit = limits.find((each) => each.name === name);
  if (limit !== undefined) return limit.id;
  const names = limits.map((each) => each.name).join(', ');
  throw new OverrideFaultsError([
    { at: `limits/${index}/name`, detail: `must name a limit of the rule (${names}), got ${JSON.stringify(name)}` },
  ]);
}

/** What was written before lies before it, whatever the clock of the machine said that wrote it. */
function beginning({ limits }: RuleEntity, last: OverrideEntity | null, nowMs: number): number {
  return Math.ceil(Math.max(nowMs, last?.untilAt.getTime() ?? 0, ...limits.map(({ since }) => since.atMs)));
}

function limitBefore({ id, generation }: Limit, last: OverrideEntity | null): LimitBefore {
  if (last === null) return { limitId: id, generation, override: 0 };
  const earlier = last.limitsBefore.find(({ limitId }) => limitId === id)?.override ?? 0;
  return { limitId: id, generation, override: concerns(overrideNumbers(last), id) ? last.number : earlier };
}

function overrideNumbers({ multiply, limits }: OverrideEntity): OverrideNumbers {
  return multiply === null ? { limits: limits ?? [] } : { multiply };
}

async function lastOf(manager: EntityManager, merchantId: string, ruleId: string): Promise<OverrideEntity | null> {
  return manager.findOne(OverrideEntity, { where: { merchantId, ruleId }, order: { number: 'DESC' } });
}

async function activeCount(manager: EntityManager, merchantId: string, nowMs: number): Promise<number> {
  return manager.countBy(OverrideEntity, { merchantId, untilAt: MoreThan(new Date(nowMs)) });
}

/** For the version of the rule that stands: a factor of other numbers is another override. */
function proposalOf(merchantId: string, { ruleId, numbers, untilMs, reason }: OverrideSpec, { version }: RuleEntity): ProposedChange {
  const written = 'multiply' in numbers ? numbers : { limits: numbers.limits.map(({ name, numbers: instead }) => ({ name, ...instead })) };
  const after = { ruleId, ...written, until: new Date(untilMs).toISOString(), ...(reason !== null && { reason }) };
  return { action: 'override.created', merchantId, ruleId, version, before: null, after };
}

/** What the audit keeps: what was written, without what live buckets need. */
function recorded({ id, ruleId, multiply, limits, fromAt, untilAt, reason, deleted }: OverrideEntity): object {
  const numbers = multiply === null ? { limits: limits?.map(({ name, numbers: instead }) => ({ name, ...instead })) } : { multiply };
  return { id, override: id, ruleId, ...numbers, from: fromAt, until: untilAt, reason, state: deleted ? 'deleted' : 'active' };
}
