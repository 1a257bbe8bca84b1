import { createPatch } from 'rfc6902';
import { MAX_PLANS, type PlanEntity, type RuleEntity } from '#rules-db';
import type { PatchStep } from '../history/history.dto.js';
import type { AppliedChange, Configuration, ConfiguredPlan, Placed } from './configuration.dto.js';
import { pagesOf } from './pages.js';
import { added, demandPlans } from './planned-changes.js';
import type { GrowingReconciliation, ReconcileOptions, Repositories } from './reconciliation.js';
import type { Compared, RuleReconciler } from './rule-reconciler.js';
import { isSelected, notSelected } from './selection.js';

/** Merchants of a plan that are looked through at once for one that keeps it. */
const READ_AT_ONCE = 200;

/** The part of a reconciliation that concerns the plans of merchants. */
export class PlanReconciler {
  constructor(
    private readonly repositories: Repositories,
    private readonly options: ReconcileOptions,
    private readonly result: GrowingReconciliation,
    private readonly ruleReconciler: RuleReconciler,
  ) {}

  /** @returns the names of the plans that the document lacks */
  async reconcile({ plans: wanted, givenPlans }: Configuration): Promise<string[]> {
    const { plans, rules } = this.repositories;
    const stored = new Map((await plans.list({ limit: MAX_PLANS })).map((plan) => [plan.name, plan]));
    const names = new Set(wanted.names);
    const others = [...stored.keys()].filter((name) => !names.has(name));
    demandPlans(givenPlans, this.options.deletePlans ? names : new Set([...names, ...others]));
    this.result.deletions.plans.of = stored.size;
    for (const page of pagesOf(wanted)) {
      const ofPlan = new Map<string | null, RuleEntity[]>(page.map(({ name }) => [name, []]));
      for (const rule of await rules.ofPlans(page.map(({ name }) => name))) ofPlan.get(rule.plan)?.push(rule);
      const compared: Compared[] = [];
      for (const each of page) {
        const first = await this.write(each, stored.get(each.name));
        const wanted = { owner: { plan: each.name }, pointer: `${each.pointer}/rules`, wanted: each.rules, first };
        compared.push(this.ruleReconciler.compared(wanted, ofPlan.get(each.name)!));
      }
      await this.ruleReconciler.finish(await this.ruleReconciler.looked(compared));
    }
    return others;
  }

  /** The rules of a deleted plan go with it, and count among the deleted ones. @param named the merchants of the document, whose plans it says */
  async delete(names: readonly string[], named: ReadonlySet<string>): Promise<void> {
    const { plans, rules } = this.repositories;
    this.result.deletions.plans.deleted = names.length;
    for (const name of names) {
      const its = await rules.ofPlans([name]);
      this.result.deletions.rules.of += its.length;
      this.result.deletions.rules.deleted += its.length;
      this.result.noteProtected(its);
      const merchantId = this.options.deleteMerchants ? undefined : await this.whoKeeps(name, named);
      if (merchantId !== undefined) this.result.planInUse ??= { plan: name, merchantId };
      this.result.changes.push({
        action: 'delete',
        kind: 'plan',
        id: name,
        merchantId: null,
        plan: name,
        patch: [{ op: 'remove', path: '' }],
      });
      if (this.result.by && this.result.planInUse === undefined) await plans.delete(name, 'any', this.result.by);
    }
  }

  /** A merchant that has the plan and is not in the document. In a dry run those of the document have their old plans still. */
  private async whoKeeps(plan: string, named: ReadonlySet<string>): Promise<string | undefined> {
    for (let after: string | undefined; ;) {
      const page = await this.repositories.merchants.list({ plan, after, limit: READ_AT_ONCE });
      const other = page.find(({ id }) => !named.has(id));
      if (other !== undefined || page.length < READ_AT_ONCE) return other?.id;
      after = page.at(-1)!.id;
    }
  }

  /** The change of a plan, made. There are few of them, so each is a statement of its own. */
  private async write(
    { name, rules: _rules, pointer: _pointer, ...spec }: Placed<ConfiguredPlan>,
    before: PlanEntity | undefined,
  ): Promise<AppliedChange | undefined> {
    const { by } = this.result;
    const { selection } = this.options;
    const about = { kind: 'plan', id: name, merchantId: null, plan: name } as const;
    if (!isSelected(selection, spec)) {
      // Its rules are managed, and it is not.
      if (before === undefined) throw notSelected(`the new plan ${JSON.stringify(name)}`, selection!);
      return undefined;
    }
    if (before === undefined) {
      if (by) await this.repositories.plans.create(name, spec, by);
      return { action: 'create', ...about, patch: added(spec) };
    }
    if (!isSelected(selection, before)) throw notSelected(`the plan ${JSON.stringify(name)}`, selection!);
    const patch = createPatch({ note: before.note, labels: before.labels }, spec) as PatchStep[];
    if (patch.length === 0) return undefined;
    if (by) await this.repositories.plans.replace(name, 'any', spec, by);
    return { action: 'update', ...about, patch };
  }
}
