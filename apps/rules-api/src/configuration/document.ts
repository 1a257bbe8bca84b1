import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  completed,
  type Fault,
  type Fields,
  isPlainObject,
  objectFaults,
  RULE_FIELDS,
  type RuleSpec,
  shown,
  writingFaults,
} from '#limiter';
import { ProblemError } from '#platform';
import { byBytes, MAX_RULES_PER_OWNER } from '#rules-db';
import { MERCHANT_FIELDS } from '../merchants/merchant-fields.js';
import { badBody, MAX_DEPTH, MAX_ERRORS, oddities } from '../http/validation.pipe.js';
import { PLAN_FIELDS } from '../plans/plan-fields.js';
import type { Configuration, Configured, ConfiguredMerchant, ConfiguredPlan, Placed } from './configuration.dto.js';
import { CONFIGURATION_FIELDS, CONFIGURED_MERCHANT_FIELDS, CONFIGURED_PLAN_FIELDS } from './configuration-fields.js';
import { type DocumentItems, DocumentText } from './document-text.js';
import { isSelected, type Selection, unselectedRule } from './selection.js';

/** So many rules are checked before other requests have their turn. */
const CHECKED_AT_ONCE = 200;

/**
 * Checks a document, which may be large, and says where its parts are: what is wrong in one part is found before the next part is looked at, so that a
 * document full of faults costs no more than one without, and other requests have their turn in between. No plan and no merchant stays in memory.
 * @param body a DocumentText, or what was read from something else than JSON
 * @throws ProblemError 400 that names the first faults
 */
export async function readConfiguration(body: unknown, selection?: Selection): Promise<Configuration> {
  const document = body instanceof DocumentText ? body : DocumentText.ofValue(body);
  const { root } = document;
  if (!isPlainObject(root)) {
    throw new ProblemError({ status: 400, code: 'body.wrong_type', detail: `the body must be an object, got ${shown(root)}` });
  }
  const reader = new DocumentReader(selection);
  reader.object(root, CONFIGURATION_FIELDS, { pointer: '', code: 'configuration' });
  const plans = await readPlans(reader, document.items('plans'));
  const givenPlans = new Map<string, string[]>();
  const merchants = await readMerchants(reader, document.items('merchants'), givenPlans);
  const defaultRules = root['defaultRules'] === undefined ? undefined : rulesIn(root['defaultRules']);
  if (defaultRules) await reader.rules(defaultRules, '/defaultRules');
  reader.demandNone();
  return { plans, merchants, givenPlans, defaultRules: defaultRules && specsOf(defaultRules) };
}

async function readPlans(reader: DocumentReader, items: DocumentItems): Promise<Configured<Placed<ConfiguredPlan>>> {
  const names = await reader.named(items, { list: 'plans', kind: 'plan', name: 'name', fields: CONFIGURED_PLAN_FIELDS });
  return configured(items, names, (plan, place) => ({
    ...(completed(plan, PLAN_FIELDS) as unknown as ConfiguredPlan),
    pointer: `/plans/${place}`,
    name: plan['name'] as string,
    rules: specsOf(rulesIn(plan['rules'])),
  }));
}

async function readMerchants(
  reader: DocumentReader,
  items: DocumentItems,
  givenPlans: Map<string, string[]>,
): Promise<Configured<Placed<ConfiguredMerchant>>> {
  const about = { list: 'merchants', kind: 'merchant', name: 'id', fields: CONFIGURED_MERCHANT_FIELDS } as const;
  const ids = await reader.named(items, about, ({ plan }, pointer) => {
    if (typeof plan !== 'string') return;
    const places = givenPlans.get(plan);
    if (places === undefined) givenPlans.set(plan, [`${pointer}/plan`]);
    else if (places.length < MAX_ERRORS) places.push(`${pointer}/plan`);
  });
  return configured(items, ids, (merchant, place) => ({
    ...(completed(merchant, MERCHANT_FIELDS) as unknown as ConfiguredMerchant),
    pointer: `/merchants/${place}`,
    rules: specsOf(rulesIn(merchant['rules'])),
  }));
}

/** Items without faults in the order of their names. @param names by their places */
function configured<T>(
  items: DocumentItems,
  names: readonly string[],
  specOf: (item: Readonly<Record<string, unknown>>, place: number) => T,
): Configured<T> {
  const order = names.map((_, i) => i);
  const isSorted = names.every((name, i) => i === 0 || byBytes(names[i - 1]!, name) < 0);
  if (!isSorted) order.sort((a, b) => byBytes(names[a]!, names[b]!));
  return {
    names: isSorted ? names : order.map((i) => names[i]!),
    *[Symbol.iterator]() {
      for (const i of order) yield specOf(items.at(i) as Readonly<Record<string, unknown>>, i);
    },
  };
}

function specsOf(rules: readonly unknown[]): RuleSpec[] {
  return rules.map((rule) => completed(rule as Readonly<Record<string, unknown>>, RULE_FIELDS) as unknown as RuleSpec);
}

/** A list of plans or of merchants. */
interface NamedList {
  readonly list: string;
  readonly kind: string;
  /** The field that tells them apart. */
  readonly name: string;
  readonly fields: Fields;
}

class DocumentReader {
  private readonly faults: Fault[] = [];
  /** Said only of a document that has no other fault. */
  private readonly notSelected: Fault[] = [];
  private checked = 0;

  /** @param selection the label that every rule has to carry: otherwise it would be created, and the next apply would not know it */
  constructor(private readonly selection: Selection | undefined) {}

  /** Notes the faults of plans or merchants and of their rules. @returns their names by their places, if there is no fault */
  async named(
    items: DocumentItems,
    { list, kind, name, fields }: NamedList,
    look: (item: Readonly<Record<string, unknown>>, pointer: string) => void = () => undefined,
  ): Promise<string[]> {
    const names: string[] = [];
    const known = new Set<unknown>();
    for (let i = 0; i < items.length; i++) {
      const pointer = `/${list}/${i}`;
      if (++this.checked % CHECKED_AT_ONCE === 0) await nextTurn();
      const item = items.at(i);
      if (!this.object(item, fields, { pointer, code: kind })) continue;
      const fault = { pointer: `${pointer}/${name}`, code: `${kind}.${name}.repeated`, detail: 'stands in the document twice' };
      this.isNew(known, item[name], fault);
      await this.rules(rulesIn(item['rules']), `${pointer}/rules`);
      look(item, pointer);
      // Of another type it has a fault, and nobody asks for the names.
      names.push(String(item[name]));
    }
    return names;
  }

  /** Notes the faults of an object without those of the items of its lists; false if it is no object. */
  object(value: unknown, fields: Fields, place: { pointer: string; code: string }): value is Readonly<Record<string, unknown>> {
    if (!isPlainObject(value)) {
      this.note([{ pointer: place.pointer, code: `${place.code}.wrong_type`, detail: `must be an object, got ${shown(value)}` }]);
      return false;
    }
    const shallow = Object.fromEntries(
      Object.entries(value).map(([name, below]) => [name, fields[name]?.kind === 'list' && Array.isArray(below) ? [] : below]),
    );
    this.noteFaultsOf(shallow, fields, place);
    return true;
  }

  async rules(list: readonly unknown[], pointer: string): Promise<void> {
    if (list.length > MAX_RULES_PER_OWNER) {
      const detail = `must have 0 to ${MAX_RULES_PER_OWNER} items, got ${list.length}`;
      this.note([{ pointer, code: 'configuration.rules.wrong_length', detail }]);
      return;
    }
    const names = new Set<unknown>();
    for (const [i, rule] of list.entries()) {
      if (++this.checked % CHECKED_AT_ONCE === 0) await nextTurn();
      const place = { pointer: `${pointer}/${i}`, code: 'rule' };
      if (!isPlainObject(rule)) this.object(rule, RULE_FIELDS, place);
      else if (!this.noteFaultsOf(rule, RULE_FIELDS, place)) {
        this.isNew(names, rule['name'], {
          pointer: `${place.pointer}/name`,
          code: 'rule.name.repeated',
          detail: 'is the name of another rule here',
        });
        const spec = completed(rule, RULE_FIELDS) as unknown as RuleSpec;
        this.note(writingFaults(spec).map((fault) => ({ ...fault, pointer: `${place.pointer}${fault.pointer}` })));
        this.noteSelected(spec, `${place.pointer}/labels`);
      }
    }
  }

  isNew(known: Set<unknown>, value: unknown, fault: Fault): void {
    if (known.has(value)) this.note([fault]);
    known.add(value);
  }

  demandNone(): void {
    if (this.faults.length > 0) throw badBody(this.faults);
    if (this.notSelected.length > 0) throw badBody(this.notSelected);
  }

  private noteSelected(spec: RuleSpec, pointer: string): void {
    if (isSelected(this.selection, spec) || this.notSelected.length >= MAX_ERRORS) return;
    this.notSelected.push(unselectedRule(pointer, this.selection!));
  }

  /** Whether there are any. */
  private noteFaultsOf(value: Readonly<Record<string, unknown>>, fields: Fields, place: { pointer: string; code: string }): boolean {
    const odd = oddities(value, place.pointer, MAX_DEPTH, place.code);
    const faults = odd.length > 0 ? odd : objectFaults(value, fields, place);
    this.note(faults);
    return faults.length > 0;
  }

  private note(faults: readonly Fault[]): void {
    for (const fault of faults) {
      this.faults.push(fault);
      if (this.faults.length >= MAX_ERRORS) this.demandNone();
    }
  }
}

function rulesIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
