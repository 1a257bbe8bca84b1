import { Inject, Injectable } from '@nestjs/common';
import { type RuleSpec, storedRule, type SwitchName, UnreadableError, writingFaults } from '#limiter';
import { ProblemError } from '#platform';
import {
  type Actor,
  type AuditFilter,
  AuditRepository,
  type ExpectedVersions,
  type MerchantChanges,
  MerchantNotFoundError,
  type MerchantReach,
  MerchantRepository,
  ownerColumns,
  PlanNotFoundError,
  PlanRepository,
  type PlanSpec,
  RuleNotFoundError,
  type RuleEntity,
  type RuleOwner,
  RuleRepository,
  TokenNotFoundError,
  UnknownPlanError,
} from '#rules-db';
import { decodeCursor, encodeCursor, type Page, toPage } from '../pagination/page.js';
import type { PageQueryDto } from '../pagination/page-query.dto.js';
import { validated } from '../http/validation.pipe.js';
import { merchantChanges, merchantView, type MerchantView } from '../merchants/merchant.dto.js';
import { PlanDto, planView, type PlanView } from '../plans/plan.dto.js';
import { KnownUses } from '../rules/known-use.js';
import { ruleSpec, type WrittenRule } from '../rules/rule.dto.js';
import { WarnedWrites } from '../rules/warned-writes.js';
import type { WriteQueryDto } from '../rules/write-query.dto.js';
import { type AuditQueryDto, changeView, type ChangeView, type RevertDto } from './history.dto.js';

const LIST = 'audit';

/** Who changed what, and the way back. */
@Injectable()
export class HistoryService {
  constructor(
    @Inject(AuditRepository) private readonly audit: AuditRepository,
    @Inject(RuleRepository) private readonly rules: RuleRepository,
    @Inject(PlanRepository) private readonly plans: PlanRepository,
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
    @Inject(WarnedWrites) private readonly writes: WarnedWrites,
    @Inject(KnownUses) private readonly uses: KnownUses,
  ) {}

  /** @param among only changes of these merchants; null: all */
  async list({ actor, merchant, plan, since, until, ...page }: AuditQueryDto, among: MerchantReach): Promise<Page<ChangeView>> {
    const moment = (text: string | undefined) => (text === undefined ? undefined : new Date(text));
    return this.page({ actor, merchantId: merchant, plan, among, since: moment(since), until: moment(until) }, page);
  }

  /** Of the merchant itself and its overrides, without its rules. It outlives the merchant. @throws MerchantNotFoundError if there never was one */
  async ofMerchant(merchantId: string, query: PageQueryDto): Promise<Page<ChangeView>> {
    const page = await this.page({ merchantId, ruleId: null }, query);
    if (page.items.length === 0 && query.cursor === undefined) throw new MerchantNotFoundError(merchantId);
    return page;
  }

  /** Of the plan itself, without its rules. It outlives the plan. @throws PlanNotFoundError if there never was one */
  async ofPlan(plan: string, query: PageQueryDto): Promise<Page<ChangeView>> {
    const page = await this.page({ plan, ruleId: null }, query);
    if (page.items.length === 0 && query.cursor === undefined) throw new PlanNotFoundError(plan);
    return page;
  }

  /** It outlives the token. @throws TokenNotFoundError if there never was one */
  async ofToken(tokenId: string, query: PageQueryDto): Promise<Page<ChangeView>> {
    const page = await this.page({ tokenId }, query);
    if (page.items.length === 0 && query.cursor === undefined) throw new TokenNotFoundError(tokenId);
    return page;
  }

  /** Empty if nobody has ever switched it. */
  async ofSwitch(switchName: SwitchName, query: PageQueryDto): Promise<Page<ChangeView>> {
    return this.page({ switchName }, query);
  }

  /** It outlives the rule. @throws RuleNotFoundError if there never was one */
  async ofRule(owner: RuleOwner, ruleId: string, query: PageQueryDto): Promise<Page<ChangeView>> {
    const page = await this.page({ ...ownerColumns(owner), ruleId }, query);
    if (page.items.length === 0 && query.cursor === undefined) throw new RuleNotFoundError(ruleId);
    return page;
  }

  /**
   * Makes what a rule was at a version its newest version, by the checks of any edit; a deleted rule comes back under its id.
   * @throws RuleNotFoundError, VersionConflictError; ProblemError 409 if the version cannot be written any more
   */
  async revert(
    owner: RuleOwner,
    ruleId: string,
    expected: ExpectedVersions,
    { version }: RevertDto,
    query: WriteQueryDto,
    by: Actor,
  ): Promise<WrittenRule> {
    const past = await this.audit.ruleAt(owner, ruleId, version);
    if (past === null) await this.refuseUnknownVersion(owner, ruleId, version);
    const spec = writable(ruleSpec(readable(past, version)), version);
    if (await this.rules.find(owner, ruleId)) {
      const use = await this.uses.of(owner, ruleId);
      return this.writes.written(query, (rules) => rules.replace(owner, ruleId, expected, spec, by, 'rule.reverted'), use);
    }
    const last = await this.audit.lastOfRule(owner, ruleId);
    if (last?.action !== 'rule.deleted') throw new RuleNotFoundError(ruleId);
    const deleted = readable(last.before, (last.before as RuleEntity).version);
    return this.writes.written(query, (rules) => rules.restore(owner, deleted, expected, spec, by));
  }

  /**
   * Makes what was written of a plan at a version what is written of it now; its rules stay. A plan that is deleted does not come back.
   * @throws PlanNotFoundError, VersionConflictError; ProblemError 400 for a version that it never had, 409 if it cannot be written any more
   */
  async revertPlan(name: string, expected: ExpectedVersions, version: number, by: Actor): Promise<PlanView> {
    const past = await this.audit.planAt(name, version);
    if (past === null) {
      if (!(await this.plans.find(name))) throw new PlanNotFoundError(name);
      throw unknownVersion(`plan ${JSON.stringify(name)}`, version);
    }
    return planView(
      await this.plans.replace(
        name,
        expected,
        pastOf('plan', version, () => planSpecOf(past)),
        by,
        'plan.reverted',
      ),
    );
  }

  /**
   * Makes what was written of a merchant at a version what is written of it now; its rules and overrides stay. One that is deleted does not come back.
   * @throws MerchantNotFoundError, VersionConflictError; ProblemError 400 for a version that it never had, 409 if it cannot be written any more
   */
  async revertMerchant(id: string, expected: ExpectedVersions, version: number, by: Actor): Promise<MerchantView> {
    const past = await this.audit.merchantAt(id, version);
    if (past === null) {
      if (!(await this.merchants.find(id))) throw new MerchantNotFoundError(id);
      throw unknownVersion(`merchant ${JSON.stringify(id)}`, version);
    }
    const changes = pastOf('merchant', version, () => merchantChangesOf(past));
    try {
      return merchantView(await this.merchants.update(id, expected, changes, by, 'merchant.reverted'));
    } catch (error) {
      throw error instanceof UnknownPlanError ? unwritable(version, error.message, 'merchant') : error;
    }
  }

  private async refuseUnknownVersion(owner: RuleOwner, ruleId: string, version: number): Promise<never> {
    const known = await this.audit.list({ ...ownerColumns(owner), ruleId }, { limit: 1 });
    if (known.length === 0) throw new RuleNotFoundError(ruleId);
    throw unknownVersion(`rule ${ruleId}`, version);
  }

  private async page(filter: AuditFilter, { limit, cursor }: Pick<PageQueryDto, 'limit' | 'cursor'>): Promise<Page<ChangeView>> {
    const before = cursor === undefined ? undefined : decodeCursor(LIST, cursor, isPlace)[0];
    const size = Number(limit);
    const rows = await this.audit.list(filter, { before, limit: size + 1 });
    return toPage(rows, size, changeView, ({ seq }) => encodeCursor(LIST, [seq]));
  }
}

/** What the audit keeps is read as any stored rule: another version of Tollgate may have written it. */
function readable(stored: object | null, version: number): RuleEntity {
  try {
    storedRule(stored);
    return stored as RuleEntity;
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    throw unwritable(version, error.message);
  }
}

/** A former version may have been written before its harm was known. */
function writable(spec: RuleSpec, version: number): RuleSpec {
  const [fault] = writingFaults(spec);
  if (fault) throw unwritable(version, `rule${fault.pointer.replaceAll('/', '.')} ${fault.detail}`);
  return spec;
}

function planSpecOf(past: object): PlanSpec {
  const { note, labels } = past as Partial<PlanSpec>;
  const { note: written = '', labels: labelled = {} } = validated({ note, labels }, PlanDto);
  return { note: written, labels: labelled };
}

/** The first versions had neither labels nor a plan. */
function merchantChangesOf(past: object): MerchantChanges {
  const { name, timeZone, labels, plan } = past as MerchantChanges;
  return merchantChanges({ name, timeZone, labels, plan });
}

/** What the audit keeps is input from outside. */
function pastOf<T>(what: 'plan' | 'merchant', version: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof ProblemError ? unwritable(version, error.errors?.[0]?.detail ?? error.message, what) : error;
  }
}

function unknownVersion(what: string, version: number): ProblemError {
  return new ProblemError({
    status: 400,
    type: 'invalid-body',
    code: 'body.invalid',
    detail: `${what} never had version ${version}`,
    errors: [{ pointer: '/version', code: 'revert.version.out_of_range', detail: `must be a version of the history, got ${version}` }],
  });
}

function unwritable(version: number, why: string, what: 'rule' | 'plan' | 'merchant' = 'rule'): ProblemError {
  return new ProblemError({
    status: 409,
    code: `${what}.version.unwritable`,
    detail: `version ${version} cannot be written any more: ${why}`,
  });
}

function isPlace(values: readonly unknown[]): values is [string] {
  return values.length === 1 && typeof values[0] === 'string' && /^[1-9]\d{0,17}$/.test(values[0]);
}
