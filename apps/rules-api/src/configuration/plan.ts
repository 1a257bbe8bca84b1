import { createPatch } from 'rfc6902';
import type { RuleSpec } from '#limiter';
import {
  type Actor,
  byBytes,
  type MerchantEntity,
  MAX_PLANS,
  type MerchantRepository,
  type PlanRepository,
  type RuleEntity,
  type RuleOwner,
  type RuleRepository,
  isProtected,
} from '#rules-db';
import type { PatchStep } from '../history/history.dto.js';
import { ruleSpec } from '../rules/rule.dto.js';
import type { UnreadableRules } from '../rules/unreadable-rules.js';
import { badBody, MAX_ERRORS } from '../http/validation.pipe.js';
import type { AppliedChange, Configuration, ConfiguredMerchant, ConfiguredPlan } from './configuration.dto.js';

/** What reads and writes; in apply all of it in one transaction. */
export interface Repositories {
  readonly merchants: MerchantRepository;
  readonly plans: PlanRepository;
  readonly rules: RuleRepository;
}

/** Changes that are made together, and how. */
interface PlannedChanges {
  readonly changes: readonly AppliedChange[];
  readonly write: (repositories: Repositories, by: Actor) => Promise<unknown>;
}

export interface Plan {
  readonly steps: readonly PlannedChanges[];
  /** How much of what the document manages would be deleted. */
  readonly deletions: Readonly<Record<'merchants' | 'rules', { readonly deleted: number; readonly of: number }>>;
  /** The names of the protected rules that the document would change or delete. */
  readonly protectedRules: readonly string[];
}

/** Merchants whose rules are read at once. */
const READ_AT_ONCE = 200;

/**
 * What has to change so that what is stored is what the document says: plans first, merchants by id, default rules last, and of each owner deletions before new rules,
 * because an owner has a maximum number of them.
 */
export class Planner {
  private readonly steps: PlannedChanges[] = [];
  private readonly protectedRules: string[] = [];
  private readonly deletions = { merchants: { deleted: 0, of: 0 }, rules: { deleted: 0, of: 0 } };

  constructor(
    private readonly repositories: Repositories,
    private readonly unreadable: UnreadableRules,
  ) {}

  async plan({ plans, merchants, defaultRules }: Configuration, { deleteMerchants }: { readonly deleteMerchants: boolean }): Promise<Plan> {
    const sorted = [...merchants].sort((a, b) => byBytes(a.id, b.id));
    await this.planPlans(plans, merchants);
    if (deleteMerchants) await this.deleteOthers(new Set(sorted.map(({ id }) => id)));
    for (let at = 0; at < sorted.length; at += READ_AT_ONCE) await this.planMerchants(sorted.slice(at, at + READ_AT_ONCE));
    if (defaultRules) this.planRules(null, defaultRules, await this.repositories.rules.ofOwners(null));
    return { steps: this.steps, deletions: this.deletions, protectedRules: this.protectedRules };
  }

  private async planPlans(wanted: readonly ConfiguredPlan[], merchants: readonly ConfiguredMerchant[]): Promise<void> {
    const stored = new Map((await this.repositories.plans.list({ limit: MAX_PLANS })).map((plan) => [plan.name, plan]));
    demandPlans(merchants, new Set([...stored.keys(), ...wanted.map(({ name }) => name)]));
    const rules = new Map<string | null, RuleEntity[]>(wanted.map(({ name }) => [name, []]));
    if (wanted.length > 0)
      for (const rule of await this.repositories.rules.ofPlans(wanted.map(({ name }) => name))) rules.get(rule.plan)?.push(rule);
    for (const { name, rules: wantedRules, ...spec } of wanted) {
      const before = stored.get(name);
      const about = { kind: 'plan' as const, id: name, merchantId: null, plan: name };
      const patch = before ? (createPatch({ note: before.note, labels: before.labels }, spec) as PatchStep[]) : added(spec);
      if (!before) this.add({ action: 'create', ...about, patch }, ({ plans }, by) => plans.create(name, spec, by));
      else if (patch.length > 0) this.add({ action: 'update', ...about, patch }, ({ plans }, by) => plans.replace(name, 'any', spec, by));
      this.planRules({ plan: name }, wantedRules, rules.get(name) ?? []);
    }
  }

  private async planMerchants(wanted: readonly ConfiguredMerchant[]): Promise<void> {
    const ids = wanted.map(({ id }) => id);
    const found = await this.repositories.merchants.list({ among: ids, limit: ids.length });
    const stored = new Map(found.map((merchant) => [merchant.id, merchant]));
    const rules = new Map<string | null, RuleEntity[]>(ids.map((id) => [id, []]));
    for (const rule of await this.repositories.rules.ofOwners(ids)) rules.get(rule.merchantId)?.push(rule);
    for (const { rules: wantedRules, ...spec } of wanted) {
      const before = stored.get(spec.id);
      if (before) {
        this.deletions.merchants.of++;
        this.planMerchant(before, spec);
      } else {
        this.add({ action: 'create', kind: 'merchant', id: spec.id, merchantId: spec.id, patch: added(spec) }, ({ merchants }, by) =>
          merchants.create(spec, by),
        );
      }
      this.planRules(spec.id, wantedRules, rules.get(spec.id) ?? []);
    }
  }

  private planMerchant(before: MerchantEntity, { id, ...wanted }: Omit<ConfiguredMerchant, 'rules'>): void {
    const { name, timeZone, labels, plan } = before;
    const patch = createPatch({ name, timeZone, labels, plan }, wanted) as PatchStep[];
    if (patch.length === 0) return;
    // An unchanged time zone that was written again would count as an edit of the limits that follow it.
    const { timeZone: wantedZone, ...others } = wanted;
    const changes = { ...others, ...(wantedZone !== timeZone && { timeZone: wantedZone }) };
    this.add({ action: 'update', kind: 'merchant', id, merchantId: id, patch }, ({ merchants }, by) =>
      merchants.update(id, 'any', changes, by),
    );
  }

  private planRules(owner: RuleOwner, wanted: readonly RuleSpec[], stored: readonly RuleEntity[]): void {
    const about = aboutRulesOf(owner);
    const names = new Set(wanted.map(({ name }) => name));
    this.deletions.rules.of += stored.length;
    for (const { id, name, labels } of stored.filter((rule) => !names.has(rule.name))) {
      this.deletions.rules.deleted++;
      if (isProtected(labels)) this.protectedRules.push(name);
      this.add({ action: 'delete', ...about, id: name, patch: [{ op: 'remove', path: '' }] }, ({ rules }, by) =>
        rules.delete(owner, id, 'any', by),
      );
    }
    const former = new Map(stored.map((rule) => [rule.name, rule]));
    for (const spec of wanted) {
      const before = former.get(spec.name);
      if (before === undefined) continue;
      // What cannot be read has nothing that could be compared: it is replaced as a whole.
      const readable = this.unreadable.faultOf(before) === undefined;
      const patch = readable ? (createPatch(ruleSpec(before), spec) as PatchStep[]) : [{ op: 'replace', path: '', value: spec }];
      if (patch.length === 0) continue;
      if (isProtected(before.labels)) this.protectedRules.push(spec.name);
      this.add({ action: 'update', ...about, id: spec.name, patch }, ({ rules }, by) => rules.replace(owner, before.id, 'any', spec, by));
    }
    const fresh = wanted.filter(({ name }) => !former.has(name));
    if (fresh.length > 0) {
      const changes = fresh.map((spec) => ({ action: 'create' as const, ...about, id: spec.name, patch: added(spec) }));
      this.steps.push({ changes, write: ({ rules }, by) => rules.createAll(owner, fresh, by) });
    }
  }

  /** The rules of a deleted merchant go with it, and count among the deleted ones. */
  private async deleteOthers(kept: ReadonlySet<string>): Promise<void> {
    let after: string | undefined;
    for (;;) {
      const page = await this.repositories.merchants.list({ after, limit: READ_AT_ONCE });
      const others = page.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
      const rules = others.length === 0 ? [] : await this.repositories.rules.ofOwners(others);
      this.deletions.rules.of += rules.length;
      this.deletions.rules.deleted += rules.length;
      this.protectedRules.push(...rules.filter(({ labels }) => isProtected(labels)).map(({ name }) => name));
      this.deletions.merchants.of += others.length;
      this.deletions.merchants.deleted += others.length;
      for (const id of others) {
        this.add({ action: 'delete', kind: 'merchant', id, merchantId: id, patch: [{ op: 'remove', path: '' }] }, ({ merchants }, by) =>
          merchants.delete(id, 'any', by),
        );
      }
      if (page.length < READ_AT_ONCE) return;
      after = page.at(-1)!.id;
    }
  }

  private add(change: AppliedChange, write: PlannedChanges['write']): void {
    this.steps.push({ changes: [change], write });
  }
}

function aboutRulesOf(owner: RuleOwner): Pick<AppliedChange, 'kind' | 'merchantId' | 'plan'> {
  if (owner === null) return { kind: 'default_rule', merchantId: null };
  return typeof owner === 'string' ? { kind: 'rule', merchantId: owner } : { kind: 'plan_rule', merchantId: null, plan: owner.plan };
}

/** The database would refuse it too, and not say which merchant it is. */
function demandPlans(merchants: readonly ConfiguredMerchant[], known: ReadonlySet<string>): void {
  const faults = merchants.flatMap(({ plan }, i) =>
    typeof plan !== 'string' || known.has(plan)
      ? []
      : [
          {
            pointer: `/merchants/${i}/plan`,
            code: 'merchant.plan.not_found',
            detail: `must be the name of a plan, and there is no plan ${JSON.stringify(plan)}`,
          },
        ],
  );
  if (faults.length > 0) throw badBody(faults.slice(0, MAX_ERRORS));
}

function added(value: unknown): PatchStep[] {
  return [{ op: 'add', path: '', value }];
}
