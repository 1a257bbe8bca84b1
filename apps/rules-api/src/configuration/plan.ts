import { createPatch } from 'rfc6902';
import { isDeepStrictEqual } from 'node:util';
import type { RuleSpec } from '#limiter';
import {
  type Actor,
  handOver,
  type MerchantEdit,
  type MerchantEntity,
  MAX_PLANS,
  type MerchantRepository,
  type PlanEntity,
  type PlanRepository,
  type RuleEdits,
  type RuleEntity,
  type RuleRepository,
  isProtected,
  Spool,
} from '#rules-db';
import type { PatchStep } from '../history/history.dto.js';
import { ruleSpec } from '../rules/rule.dto.js';
import type { UnreadableRules } from '../rules/unreadable-rules.js';
import type { AppliedChange, Configuration, ConfiguredMerchant, ConfiguredPlan, Placed } from './configuration.dto.js';
import { DocumentWarnings, type RulesOfOwner } from './document-warnings.js';
import { pagesOf } from './pages.js';
import { aboutRulesOf, added, demandPlans, editOf, ownerName } from './planned-changes.js';
import { isSelected, notSelected, type Selection } from './selection.js';

/** What reads and writes; in apply all of it in one transaction. */
export interface Repositories {
  readonly merchants: MerchantRepository;
  readonly plans: PlanRepository;
  readonly rules: RuleRepository;
}

export interface PlanOptions {
  readonly deleteMerchants: boolean;
  readonly deletePlans: boolean;
  /** What the document manages; undefined: everything that it names. */
  readonly selection: Selection | undefined;
  /** Whether warnings are errors. */
  readonly strict: boolean;
  /** Who makes the changes. Without one nothing is changed. */
  readonly by: Actor | undefined;
}

export interface Plan {
  /** Plans, merchants by id, each before its rules, default rules, and deleted plans last. */
  readonly changes: Spool<AppliedChange>;
  /** How much of what the document manages would be deleted. */
  readonly deletions: Readonly<Record<'plans' | 'merchants' | 'rules', { readonly deleted: number; readonly of: number }>>;
  /** A plan that would be deleted, and a merchant that would still have it. */
  readonly planInUse: { readonly plan: string; readonly merchantId: string } | undefined;
  /** The names of the protected rules that the document would change or delete. */
  readonly protectedRules: readonly string[];
  /** About the rules that are created or changed. */
  readonly warnings: Pick<DocumentWarnings, 'first' | 'more'>;
}

const NOBODY: ReadonlySet<string> = new Set();

/** Merchants that are looked through at once for those that the document lacks. */
const READ_AT_ONCE = 200;

/** A merchant of the document beside what is stored. */
interface Compared {
  readonly changes: AppliedChange[];
  readonly edit: RuleEdits;
  readonly rules: RulesOfOwner;
}

/** Rules of an owner, and what else the document says of the owner. */
interface Wanted extends Pick<RulesOfOwner, 'owner' | 'pointer' | 'wanted' | 'plan'> {
  /** The change of the owner itself. */
  readonly first?: AppliedChange | undefined;
}

/**
 * Compares a document with what is stored, and makes the changes if it is told who makes them. Document and storage are walked side by side in the
 * order of merchants' ids, page by page, and the changes of a page are made while the next page is compared, so that two pages at most are in memory:
 * plans first, because merchants name them, then merchants by id, then default rules, and of each owner deletions before new rules, because an owner has
 * a maximum number of them. Plans that the document lacks come last, when merchants have left them.
 */
export class Planner {
  private readonly changes = new Spool<AppliedChange>();
  private readonly protectedRules: string[] = [];
  private readonly deletions = { plans: { deleted: 0, of: 0 }, merchants: { deleted: 0, of: 0 }, rules: { deleted: 0, of: 0 } };
  private planInUse: Plan['planInUse'];
  private warnings: DocumentWarnings;

  constructor(
    private readonly repositories: Repositories,
    private readonly unreadable: UnreadableRules,
    private readonly options: PlanOptions,
  ) {}

  async plan(document: Configuration): Promise<Plan> {
    const { merchants, defaultRules } = document;
    const { deleteMerchants, deletePlans, selection } = this.options;
    const { rules } = this.repositories;
    this.warnings = new DocumentWarnings({ rules, unreadable: this.unreadable, selection, document, nowMs: Date.now() });
    const named = deleteMerchants || deletePlans ? new Set(merchants.names) : NOBODY;
    const otherPlans = await this.planPlans(document);
    if (deleteMerchants) await this.deleteOthers(named);
    await handOver(this.comparedPages(merchants), (page) => this.finish(page));
    if (defaultRules) {
      const wanted = { owner: null, pointer: '/defaultRules', wanted: defaultRules };
      await this.finish(await this.looked([this.compared(wanted, await rules.ofOwners(null))]));
    }
    if (deletePlans) await this.deletePlans(otherPlans, named);
    const { changes, deletions, protectedRules, planInUse, warnings } = this;
    return { changes, deletions, protectedRules, planInUse, warnings };
  }

  /** @returns the names of the plans that the document lacks */
  private async planPlans({ plans: wanted, givenPlans }: Configuration): Promise<string[]> {
    const { plans, rules } = this.repositories;
    const stored = new Map((await plans.list({ limit: MAX_PLANS })).map((plan) => [plan.name, plan]));
    const names = new Set(wanted.names);
    const others = [...stored.keys()].filter((name) => !names.has(name));
    demandPlans(givenPlans, this.options.deletePlans ? names : new Set([...names, ...others]));
    this.deletions.plans.of = stored.size;
    for (const page of pagesOf(wanted)) {
      const ofPlan = new Map<string | null, RuleEntity[]>(page.map(({ name }) => [name, []]));
      for (const rule of await rules.ofPlans(page.map(({ name }) => name))) ofPlan.get(rule.plan)?.push(rule);
      const compared: Compared[] = [];
      for (const each of page) {
        const first = await this.writePlan(each, stored.get(each.name));
        const wanted = { owner: { plan: each.name }, pointer: `${each.pointer}/rules`, wanted: each.rules, first };
        compared.push(this.compared(wanted, ofPlan.get(each.name)!));
      }
      await this.finish(await this.looked(compared));
    }
    return others;
  }

  /** The rules of a deleted plan go with it, and count among the deleted ones. @param named the merchants of the document, whose plans it says */
  private async deletePlans(names: readonly string[], named: ReadonlySet<string>): Promise<void> {
    const { plans, rules } = this.repositories;
    this.deletions.plans.deleted = names.length;
    for (const name of names) {
      const its = await rules.ofPlans([name]);
      this.deletions.rules.of += its.length;
      this.deletions.rules.deleted += its.length;
      this.noteProtected(its);
      const merchantId = this.options.deleteMerchants ? undefined : await this.whoKeeps(name, named);
      if (merchantId !== undefined) this.planInUse ??= { plan: name, merchantId };
      this.changes.push({ action: 'delete', kind: 'plan', id: name, merchantId: null, plan: name, patch: [{ op: 'remove', path: '' }] });
      if (this.by && this.planInUse === undefined) await plans.delete(name, 'any', this.by);
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
  private async writePlan(
    { name, rules: _rules, pointer: _pointer, ...spec }: Placed<ConfiguredPlan>,
    before: PlanEntity | undefined,
  ): Promise<AppliedChange | undefined> {
    const { by } = this;
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

  /** Merchants with their rules, compared. The rules of a page are written while the next page is compared: they are rules of others. */
  private async *comparedPages(merchants: Configuration['merchants']): AsyncGenerator<readonly Compared[]> {
    for (const page of pagesOf(merchants)) yield await this.looked(await this.comparedMerchants(page));
  }

  private async looked(compared: readonly Compared[]): Promise<readonly Compared[]> {
    await this.warnings.look(compared.map(({ rules }) => rules));
    return compared;
  }

  /** Compares merchants of a page with what is stored, and writes them, but not their rules. */
  private async comparedMerchants(wanted: readonly Placed<ConfiguredMerchant>[]): Promise<Compared[]> {
    const { merchants, rules } = this.repositories;
    const found = await merchants.list({ among: wanted.map(({ id }) => id), limit: wanted.length });
    const stored = new Map(found.map((merchant) => [merchant.id, merchant]));
    const changes = await this.writeMerchants(wanted, stored);
    // They are read after that, because another time zone moves limits.
    const ofMerchant = new Map<string | null, RuleEntity[]>(wanted.map(({ id }) => [id, []]));
    if (found.length > 0) for (const rule of await rules.ofOwners([...stored.keys()])) ofMerchant.get(rule.merchantId)?.push(rule);
    return wanted.map((each) => {
      const { id, pointer, rules: its } = each;
      const { plan } = isSelected(this.options.selection, each) ? each : stored.get(id)!;
      const rulesOfIt = { owner: id, pointer: `${pointer}/rules`, wanted: its, plan, first: changes.get(id) };
      return this.compared(rulesOfIt, ofMerchant.get(id) ?? []);
    });
  }

  /** The changes of merchants by their ids, made. */
  private async writeMerchants(
    wanted: readonly Placed<ConfiguredMerchant>[],
    stored: ReadonlyMap<string, MerchantEntity>,
  ): Promise<Map<string, AppliedChange>> {
    const { by } = this;
    const { selection } = this.options;
    const created: Omit<ConfiguredMerchant, 'rules'>[] = [];
    const edits: MerchantEdit[] = [];
    const changes = new Map<string, AppliedChange>();
    for (const { rules: _rules, pointer: _pointer, ...spec } of wanted) {
      const before = stored.get(spec.id);
      const about = { kind: 'merchant', id: spec.id, merchantId: spec.id } as const;
      if (!isSelected(selection, spec)) {
        // Its rules are managed, and it is not.
        if (before === undefined) throw notSelected(`the new merchant ${JSON.stringify(spec.id)}`, selection!);
      } else if (before === undefined) {
        created.push(spec);
        changes.set(spec.id, { action: 'create', ...about, patch: added(spec) });
      } else {
        if (!isSelected(selection, before)) throw notSelected(`the merchant ${JSON.stringify(spec.id)}`, selection!);
        this.deletions.merchants.of++;
        const edit = editOf(before, spec);
        if (edit.patch.length === 0) continue;
        edits.push(edit);
        changes.set(spec.id, { action: 'update', ...about, patch: edit.patch });
      }
    }
    if (by && created.length > 0) await this.repositories.merchants.createAll(created, by);
    if (by && edits.length > 0) await this.repositories.merchants.updateAll(edits, by);
    return changes;
  }

  /** @param all that is stored of the owner */
  private compared({ owner, wanted, first, ...place }: Wanted, all: readonly RuleEntity[]): Compared {
    const { selection } = this.options;
    const about = aboutRulesOf(owner);
    const changes = first ? [first] : [];
    const names = new Set(wanted.map(({ name }) => name));
    const stored = all.filter((rule) => isSelected(selection, rule));
    const outside = all.find((rule) => names.has(rule.name) && !isSelected(selection, rule));
    if (outside) throw notSelected(`the rule ${JSON.stringify(outside.name)} of ${ownerName(owner)}`, selection!);
    const deleted = stored.filter(({ name }) => !names.has(name));
    this.deletions.rules.of += stored.length;
    this.deletions.rules.deleted += deleted.length;
    this.noteProtected(deleted);
    for (const { name } of deleted) changes.push({ action: 'delete', ...about, id: name, patch: [{ op: 'remove', path: '' }] });
    const former = new Map(stored.map((rule) => [rule.name, rule]));
    const replaced: RuleEdits['replaced'][number][] = [];
    for (const spec of wanted) {
      const before = former.get(spec.name);
      const patch = before === undefined ? [] : this.patchOf(before, spec);
      if (before === undefined || patch.length === 0) continue;
      replaced.push({ before, spec });
      changes.push({ action: 'update', ...about, id: spec.name, patch });
    }
    this.noteProtected(replaced.map(({ before }) => before));
    const created = wanted.filter(({ name }) => !former.has(name));
    for (const spec of created) changes.push({ action: 'create', ...about, id: spec.name, patch: added(spec) });
    const written = new Set([...replaced.map(({ spec }) => spec), ...created].map(({ name }) => name));
    return { changes, edit: { owner, deleted, replaced, created }, rules: { ...place, owner, wanted, stored: all, written } };
  }

  /** The document is refused as a whole then; what is left of it is compared, so that the answer names all of them. */
  private noteProtected(rules: readonly Pick<RuleEntity, 'name' | 'labels'>[]): void {
    for (const { name, labels } of rules) if (isProtected(labels)) this.protectedRules.push(name);
  }

  /** Who makes changes, as long as nothing was found for which all of them are refused. */
  private get by(): Actor | undefined {
    const { by, strict } = this.options;
    return this.protectedRules.length > 0 || (strict && this.warnings.first.length > 0) ? undefined : by;
  }

  private patchOf(before: RuleEntity, spec: RuleSpec): PatchStep[] {
    // What cannot be read has nothing that could be compared: it is replaced as a whole.
    if (this.unreadable.faultOf(before) !== undefined) return [{ op: 'replace', path: '', value: spec }];
    const stored = ruleSpec(before);
    return isDeepStrictEqual(stored, spec) ? [] : (createPatch(stored, spec) as PatchStep[]);
  }

  /** Notes the changes of owners, and makes those of their rules. */
  private async finish(compared: readonly Compared[]): Promise<void> {
    for (const { changes } of compared) for (const change of changes) this.changes.push(change);
    const edits = compared
      .map(({ edit }) => edit)
      .filter(({ deleted, replaced, created }) => deleted.length + replaced.length + created.length > 0);
    if (this.by && edits.length > 0) await this.repositories.rules.editAll(edits, this.by);
  }

  /** The rules of a deleted merchant go with it, and count among the deleted ones. */
  private async deleteOthers(kept: ReadonlySet<string>): Promise<void> {
    const { merchants, rules } = this.repositories;
    let after: string | undefined;
    for (;;) {
      const page = await merchants.list({ after, limit: READ_AT_ONCE });
      const others = page.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
      const gone = others.length === 0 ? 0 : await rules.countOf(others);
      this.deletions.rules.of += gone;
      this.deletions.rules.deleted += gone;
      if (gone > 0) this.noteProtected(await rules.protectedOf(others));
      this.deletions.merchants.of += others.length;
      this.deletions.merchants.deleted += others.length;
      for (const id of others)
        this.changes.push({ action: 'delete', kind: 'merchant', id, merchantId: id, patch: [{ op: 'remove', path: '' }] });
      if (this.by && others.length > 0) await merchants.deleteAll(others, this.by);
      if (page.length < READ_AT_ONCE) return;
      after = page.at(-1)!.id;
    }
  }
}
