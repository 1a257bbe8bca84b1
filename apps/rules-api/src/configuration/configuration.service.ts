import { Inject, Injectable } from '@nestjs/common';
import { ProblemError } from '#platform';
import {
  type Actor,
  inOneTransaction,
  MAX_PLANS,
  MerchantNotFoundError,
  type MerchantReach,
  MerchantRepository,
  PlanRepository,
  type RuleEntity,
  RuleRepository,
  type Spool,
  tryLockForApply,
} from '#rules-db';
import { demandAmong } from '../auth/forbidden.js';
import { RulesDatabase } from '../database.js';
import { approvalNeeded } from '../http/approval-needed.js';
import { invalidQuery } from '../http/invalid-query.js';
import { ruleSpec } from '../rules/rule.dto.js';
import { UnreadableRules, unreadableRule } from '../rules/unreadable-rules.js';
import type {
  AppliedChange,
  ApplyQueryDto,
  ApplyRefusal,
  ApplyResult,
  Configuration,
  ConfiguredMerchant,
  ConfiguredPlan,
  ExportQueryDto,
} from './configuration.dto.js';
import { readConfiguration } from './document.js';
import { WRITERS } from './export.js';
import { reconcile } from './reconciler.js';
import type { Reconciliation, Repositories } from './reconciliation.js';
import { type Selection, selectionIn } from './selection.js';

/** Merchants that an export reads at once, and plans, which may have more rules each. */
const EXPORTED_AT_ONCE = 200;
const PLANS_AT_ONCE = 20;

/** What apply has changed, or would change. */
export interface Applied extends Omit<ApplyResult, 'changes'> {
  readonly changes: Spool<AppliedChange>;
}

/** Merchants and rules as files. */
@Injectable()
export class ConfigurationService {
  /** A document takes its share of memory and of the processor, so there is one at a time. */
  private isApplying = false;

  constructor(
    @Inject(RulesDatabase) private readonly database: RulesDatabase,
    @Inject(MerchantRepository) private readonly merchants: MerchantRepository,
    @Inject(PlanRepository) private readonly plans: PlanRepository,
    @Inject(RuleRepository) private readonly rules: RuleRepository,
    @Inject(UnreadableRules) private readonly unreadable: UnreadableRules,
  ) {}

  /**
   * The text of the document, in pieces. Memory stays flat: each piece is read when the one before was taken. The first
   * pieces are read before this resolves, so that a database that is gone is answered as a problem.
   * @param among only these merchants; null: all
   */
  async export({ merchant, format, select }: ExportQueryDto, among: MerchantReach): Promise<AsyncIterable<string>> {
    if (merchant !== undefined) await this.mustBeVisible(merchant, among);
    const selection = selectionIn(select);
    const merchants = this.exportedMerchants(merchant === undefined ? among : [merchant], selection);
    const first = await merchants.next();
    async function* withFirst() {
      if (!first.done) yield first.value;
      yield* merchants;
    }
    const defaultRules = async () =>
      merchant === undefined ? (await this.rules.ofOwners(null, selection)).map(this.exportedRule) : undefined;
    const plans = merchant === undefined ? this.exportedPlans(selection) : NO_PLANS;
    return WRITERS[format]({ plans, merchants: withFirst(), defaultRules });
  }

  private async mustBeVisible(merchant: string, among: MerchantReach): Promise<void> {
    demandAmong(merchant, await this.merchants.narrowed(among, [merchant]));
    if (!(await this.merchants.find(merchant))) throw new MerchantNotFoundError(merchant);
  }

  private async *exportedPlans(selection: Selection | undefined): AsyncGenerator<ConfiguredPlan[]> {
    for (let after: string | undefined; ;) {
      const page = await this.plans.list({ after, limit: PLANS_AT_ONCE, labelledInPart: selection });
      const rules = new Map<string | null, RuleEntity[]>(page.map(({ name }) => [name, []]));
      for (const rule of await this.rules.ofPlans([...rules.keys()] as string[], selection)) rules.get(rule.plan)?.push(rule);
      yield page.map(({ name, note, labels }) => ({ name, note, labels, rules: rules.get(name)!.map(this.exportedRule) }));
      if (page.length < PLANS_AT_ONCE) return;
      after = page.at(-1)!.name;
    }
  }

  private async *exportedMerchants(among: MerchantReach, selection: Selection | undefined): AsyncGenerator<ConfiguredMerchant[]> {
    for (let after: string | undefined; ;) {
      const page = await this.merchants.list({ after, limit: EXPORTED_AT_ONCE, among, labelledInPart: selection });
      const rules = new Map<string | null, RuleEntity[]>(page.map(({ id }) => [id, []]));
      for (const rule of await this.rules.ofOwners([...rules.keys()] as string[], selection)) rules.get(rule.merchantId)?.push(rule);
      yield page.map(({ id, name, timeZone, labels, plan }) => ({
        id,
        name,
        timeZone,
        labels,
        ...(plan !== null && { plan }),
        rules: rules.get(id)!.map(this.exportedRule),
      }));
      if (page.length < EXPORTED_AT_ONCE) return;
      after = page.at(-1)!.id;
    }
  }

  /** A document without a rule would delete it when it is applied: so an export with a rule that cannot be read fails. */
  private readonly exportedRule = (rule: RuleEntity) => {
    const fault = this.unreadable.faultOf(rule);
    if (fault !== undefined) throw unreadableRule(rule, fault);
    return ruleSpec(rule);
  };

  /**
   * Makes what is stored what the document says, in one transaction; a second time it changes nothing.
   * @throws ProblemError 400 for a document with faults, 409 if it would delete too much, 503 while another one is applied
   */
  async apply(body: unknown, query: ApplyQueryDto, by: Actor): Promise<Applied> {
    if (this.isApplying) throw busy();
    this.isApplying = true;
    try {
      const selection = selectionIn(query.select);
      if (selection && query.deleteMerchants === 'true') throw notTogether('deleteMerchants', 'a merchant');
      if (selection && query.deletePlans === 'true') throw notTogether('deletePlans', 'a plan');
      const document = await readConfiguration(body, selection);
      return await (query.dryRun === 'true' ? this.preview(document, query) : this.write(document, query, by));
    } finally {
      this.isApplying = false;
    }
  }

  private async preview(document: Configuration, query: ApplyQueryDto): Promise<Applied> {
    const found = await this.reconcile({ merchants: this.merchants, plans: this.plans, rules: this.rules }, document, query, undefined);
    const refusal = refusalOf(found, Number(query.maxDeletePercent)) ?? strictRefusalOf(found, query);
    return { changes: found.changes, applied: false, ...(refusal && { refusal }), ...warningsIn(found) };
  }

  private async write(document: Configuration, query: ApplyQueryDto, by: Actor): Promise<Applied> {
    return inOneTransaction(this.database.dataSource, async (transaction) => {
      // A document locks many owners, and deleteMerchants some that it does not name: two documents at once could wait for each other.
      if (!(await tryLockForApply(transaction))) throw busy();
      const repositories = {
        merchants: new MerchantRepository(transaction),
        plans: new PlanRepository(transaction),
        rules: new RuleRepository(transaction),
      };
      // Everything is locked before anything is compared, merchants by id, then plans, and default rules last, as every other writer does.
      await repositories.merchants.lock(document.merchants.names);
      const others = query.deletePlans === 'true' ? await repositories.plans.list({ limit: MAX_PLANS }) : [];
      await repositories.plans.lock([...document.plans.names, ...others.map(({ name }) => name)]);
      if (document.defaultRules) await repositories.rules.lockDefaultRules();
      const found = await this.reconcile(repositories, document, query, by);
      const refusal = refusalOf(found, Number(query.maxDeletePercent));
      // It undoes what was changed.
      if (refusal) throw new ProblemError({ status: 409, ...refusal });
      const strictRefusal = strictRefusalOf(found, query);
      if (strictRefusal) throw new ProblemError({ status: 400, type: 'invalid-body', ...strictRefusal, errors: found.warnings.first });
      return { changes: found.changes, applied: true, ...warningsIn(found) };
    });
  }

  private async reconcile(
    repositories: Repositories,
    document: Configuration,
    query: ApplyQueryDto,
    by: Actor | undefined,
  ): Promise<Reconciliation> {
    const options = {
      deleteMerchants: query.deleteMerchants === 'true',
      deletePlans: query.deletePlans === 'true',
      selection: selectionIn(query.select),
      strict: query.strict === 'true',
      by,
    };
    return reconcile(repositories, this.unreadable, options, document);
  }
}

const NO_PLANS: AsyncIterable<never> = { async *[Symbol.asyncIterator]() {} };

function busy(): ProblemError {
  const detail = 'another document is being applied; try again when it is done';
  return new ProblemError({ status: 503, code: 'apply.busy', detail, headers: { 'retry-after': '5' } });
}

/** It is deleted with all its rules, and select leaves alone those without the label. */
function notTogether(parameter: 'deleteMerchants' | 'deletePlans', what: string): ProblemError {
  const detail = `does not go with select: ${what} would be deleted with rules that select leaves alone`;
  return invalidQuery([{ parameter, code: `query.${parameter}.not_applicable`, detail }]);
}

function refusalOf({ deletions, protectedRules, planInUse }: Reconciliation, maxDeletePercent: number): ApplyRefusal | undefined {
  if (protectedRules.length > 0) {
    const { code, detail } = approvalNeeded(protectedRules);
    return { code, detail };
  }
  for (const [what, { deleted, of }] of Object.entries(deletions)) {
    if (deleted * 100 <= of * maxDeletePercent) continue;
    const detail =
      `the document would delete ${deleted} of ${of} ${what}, more than ${maxDeletePercent} %; ` +
      'if that is meant, say so with maxDeletePercent';
    return { code: 'apply.too_many_deletions', detail };
  }
  if (planInUse) {
    const { plan, merchantId } = planInUse;
    const detail = `the document would delete the plan ${JSON.stringify(plan)}, which the merchant ${merchantId} has; give it another plan in the document`;
    return { code: 'plan.in_use', detail };
  }
  return undefined;
}

function strictRefusalOf({ warnings: { first, more } }: Reconciliation, { strict }: ApplyQueryDto): ApplyRefusal | undefined {
  if (strict !== 'true' || first.length === 0) return undefined;
  const all = first.length + more;
  const detail =
    `rules of the document are probably mistakes (${all} ${all === 1 ? 'warning' : 'warnings'}), and strict=true asks to refuse it then; ` +
    'without it the document would be applied with these warnings';
  return { code: 'rule.warnings', detail };
}

function warningsIn({ warnings: { first, more } }: Reconciliation): Pick<ApplyResult, 'warnings' | 'moreWarnings'> {
  return { ...(first.length > 0 && { warnings: [...first] }), ...(more > 0 && { moreWarnings: more }) };
}
