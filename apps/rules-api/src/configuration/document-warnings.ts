import { setImmediate as nextTurn } from 'node:timers/promises';
import { merchantRules, type Rule, type RuleSpec, type RuleWarning, ruleWarnings, shadowWarnings, startLimits } from '#limiter';
import type { RuleEntity, RuleOwner, RuleRepository } from '#rules-db';
import { MAX_ERRORS } from '../http/validation.pipe.js';
import { ruleSpec } from '../rules/rule.dto.js';
import type { UnreadableRules } from '../rules/unreadable-rules.js';
import type { Configuration } from './configuration.dto.js';
import { isSelected, type Selection } from './selection.js';

/** Rules that are compared with the others of their owner before other requests have their turn. */
const COMPARED_AT_ONCE = 100;

/** Rules of plans that are kept to be compared with those of merchants: more would not stay in memory while a large file is applied. */
const MOST_PLAN_RULES = 10_000;

/** Behind the ids of all stored rules, which are shorter: a new rule is the youngest. Only rules of one merchant, with those above them, have to differ. */
const NEW = '9'.repeat(24);

function newId(owner: RuleOwner, place: number): string {
  const kind = owner === null ? 'default' : typeof owner === 'string' ? 'own' : 'plan';
  return `${NEW}-${kind}-${String(place).padStart(4, '0')}`;
}

/** What a document says of the rules of an owner. */
export interface RulesOfOwner {
  readonly owner: RuleOwner;
  /** JSON pointer of their list in the document. */
  readonly pointer: string;
  /** In the order of the document. */
  readonly wanted: readonly RuleSpec[];
  /** All that is stored. */
  readonly stored: readonly RuleEntity[];
  /** The names of those that are new or changed. */
  readonly written: ReadonlySet<string>;
  /** The plan of a merchant, as the document says it. */
  readonly plan?: string | null | undefined;
}

/** What is read to compare the rules of a document with those that it leaves alone. */
export interface WarningSources {
  readonly rules: Pick<RuleRepository, 'ofOwners' | 'ofPlans'>;
  readonly unreadable: Pick<UnreadableRules, 'faultOf'>;
  readonly selection: Selection | undefined;
  readonly document: Pick<Configuration, 'defaultRules' | 'givenPlans'>;
  readonly nowMs: number;
}

/**
 * What is probably a mistake in the rules that a document writes, by themselves and among those that will stand beside them. Each is compared with at most
 * the rules of its owner, of the owner's plan and the default rules. A bounded number of the warnings is kept, and the others are counted.
 */
export class DocumentWarnings {
  /** The first of them. Their pointers point into the document. */
  readonly first: RuleWarning[] = [];
  private all = 0;
  private compared = 0;
  private defaults: readonly Rule[] | undefined;
  /** By plan; undefined: there are too many, and they are not compared with those of merchants. */
  private readonly ofPlans = new Map<string, readonly Rule[] | undefined>();
  private planRules = 0;

  constructor(private readonly sources: WarningSources) {}

  /** How many there are besides the first ones. */
  get more(): number {
    return this.all - this.first.length;
  }

  /** Plans come before the merchants that have them. */
  async look(owners: readonly RulesOfOwner[]): Promise<void> {
    for (const each of owners) if (isOfPlan(each.owner)) this.keepPlan(each.owner.plan, () => this.standing(each));
    const writing = owners.filter(({ written }) => written.size > 0);
    if (writing.length === 0) return;
    this.defaults ??= await this.readDefaults();
    await this.readPlans(writing);
    for (const each of writing) await this.lookAt(each, this.defaults);
  }

  private async lookAt(rules: RulesOfOwner, defaults: readonly Rule[]): Promise<void> {
    const { owner, pointer, wanted, written, plan } = rules;
    const own = owner === null ? defaults : this.standing(rules);
    const { layers } =
      typeof owner === 'string'
        ? merchantRules(owner, own, defaults, { plan: plan ? this.ofPlans.get(plan) : undefined })
        : merchantRules('', [], defaults, { plan: owner === null ? undefined : own });
    for (const [i, spec] of wanted.entries()) {
      if (!written.has(spec.name)) continue;
      if (++this.compared % COMPARED_AT_ONCE === 0) await nextTurn();
      const among = spec.enabled ? shadowWarnings(layers, own[i]!.id, isStored) : [];
      for (const warning of [...ruleWarnings(spec, this.sources.nowMs), ...among]) this.note(warning, `${pointer}/${i}`);
    }
  }

  private note(warning: RuleWarning, place: string): void {
    this.all++;
    if (this.first.length < MAX_ERRORS) this.first.push({ ...warning, pointer: place + warning.pointer });
  }

  /** The rules of an owner as they will stand: those of the document first, in its order, and then those that it leaves alone. */
  private standing({ owner, wanted, stored }: Pick<RulesOfOwner, 'owner' | 'wanted' | 'stored'>): Rule[] {
    const { selection, nowMs } = this.sources;
    const ids = new Map(stored.map(({ name, id }) => [name, id]));
    const ofDocument = wanted.map((spec, i) => started(spec, ids.get(spec.name) ?? newId(owner, i), nowMs));
    return [...ofDocument, ...this.readable(stored.filter((rule) => !isSelected(selection, rule)))];
  }

  private readable(stored: readonly RuleEntity[]): Rule[] {
    const { unreadable, nowMs } = this.sources;
    return stored.filter((rule) => unreadable.faultOf(rule) === undefined).map((rule) => started(ruleSpec(rule), rule.id, nowMs));
  }

  private async readDefaults(): Promise<Rule[]> {
    const { rules, document } = this.sources;
    const stored = await rules.ofOwners(null);
    return document.defaultRules ? this.standing({ owner: null, wanted: document.defaultRules, stored }) : this.readable(stored);
  }

  /** The plans of merchants that the document itself does not have. */
  private async readPlans(owners: readonly RulesOfOwner[]): Promise<void> {
    const plans = owners.flatMap(({ plan }) => (plan && !this.ofPlans.has(plan) ? [plan] : []));
    if (plans.length === 0) return;
    const stored = new Map<string | null, RuleEntity[]>(plans.map((plan) => [plan, []]));
    for (const rule of await this.sources.rules.ofPlans([...stored.keys()] as string[])) stored.get(rule.plan)?.push(rule);
    for (const [plan, rules] of stored) this.keepPlan(plan!, () => this.readable(rules));
  }

  private keepPlan(plan: string, rules: () => readonly Rule[]): void {
    const isWanted = this.sources.document.givenPlans.has(plan) && this.planRules < MOST_PLAN_RULES;
    const kept = isWanted ? rules() : undefined;
    this.ofPlans.set(plan, kept);
    this.planRules += kept?.length ?? 0;
  }
}

function isOfPlan(owner: RuleOwner): owner is { plan: string } {
  return owner !== null && typeof owner !== 'string';
}

/** When its limits have begun is nothing to warnings. */
function started(spec: RuleSpec, id: string, nowMs: number): Rule {
  return { ...spec, id, limits: startLimits(spec.limits, nowMs) };
}

function isStored({ id }: Rule): boolean {
  return !id.startsWith(NEW);
}
