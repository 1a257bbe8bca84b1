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
import { MAX_RULES_PER_OWNER } from '#rules-db';
import { MERCHANT_FIELDS } from '../merchants/merchant-fields.js';
import { badBody, MAX_DEPTH, MAX_ERRORS, oddities } from '../http/validation.pipe.js';
import { PLAN_FIELDS } from '../plans/plan-fields.js';
import type { Configuration, ConfiguredMerchant, ConfiguredPlan } from './configuration.dto.js';
import { CONFIGURATION_FIELDS, CONFIGURED_MERCHANT_FIELDS, CONFIGURED_PLAN_FIELDS } from './configuration-fields.js';

/** So many rules are checked before other requests have their turn. */
const CHECKED_AT_ONCE = 200;

/**
 * Reads a document, which may be large: what is wrong in one part is found before the next part is looked at, so that a document full of faults
 * costs no more than one without, and other requests have their turn in between.
 * @throws ProblemError 400 that names the first faults
 */
export async function readConfiguration(body: unknown): Promise<Configuration> {
  if (!isPlainObject(body)) {
    throw new ProblemError({ status: 400, code: 'body.wrong_type', detail: `the body must be an object, got ${shown(body)}` });
  }
  const reader = new DocumentReader();
  reader.object(body, CONFIGURATION_FIELDS, { pointer: '', code: 'configuration' });
  const plans = await readPlans(reader, body['plans']);
  const merchants: ConfiguredMerchant[] = [];
  const ids = new Set<unknown>();
  for (const [i, merchant] of listIn(body['merchants']).entries()) {
    const pointer = `/merchants/${i}`;
    if (!reader.object(merchant, CONFIGURED_MERCHANT_FIELDS, { pointer, code: 'merchant' })) continue;
    reader.isNew(ids, merchant['id'], { pointer: `${pointer}/id`, code: 'merchant.id.repeated', detail: 'stands in the document twice' });
    const rules = await reader.rules(merchant['rules'], `${pointer}/rules`);
    merchants.push({ ...(completed(merchant, MERCHANT_FIELDS) as unknown as ConfiguredMerchant), rules });
  }
  const defaultRules = body['defaultRules'] === undefined ? undefined : await reader.rules(body['defaultRules'], '/defaultRules');
  reader.demandNone();
  return { plans, merchants, defaultRules };
}

async function readPlans(reader: DocumentReader, value: unknown): Promise<ConfiguredPlan[]> {
  const plans: ConfiguredPlan[] = [];
  const names = new Set<unknown>();
  for (const [i, plan] of listIn(value).entries()) {
    const pointer = `/plans/${i}`;
    if (!reader.object(plan, CONFIGURED_PLAN_FIELDS, { pointer, code: 'plan' })) continue;
    reader.isNew(names, plan['name'], { pointer: `${pointer}/name`, code: 'plan.name.repeated', detail: 'stands in the document twice' });
    const rules = await reader.rules(plan['rules'], `${pointer}/rules`);
    plans.push({ ...(completed(plan, PLAN_FIELDS) as unknown as ConfiguredPlan), name: plan['name'] as string, rules });
  }
  return plans;
}

class DocumentReader {
  private readonly faults: Fault[] = [];
  private checked = 0;

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

  async rules(value: unknown, pointer: string): Promise<RuleSpec[]> {
    const list = listIn(value);
    if (list.length > MAX_RULES_PER_OWNER) {
      const detail = `must have 0 to ${MAX_RULES_PER_OWNER} items, got ${list.length}`;
      this.note([{ pointer, code: 'configuration.rules.wrong_length', detail }]);
      return [];
    }
    const names = new Set<unknown>();
    const rules: RuleSpec[] = [];
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
        rules.push(spec);
      }
    }
    return rules;
  }

  isNew(known: Set<unknown>, value: unknown, fault: Fault): void {
    if (known.has(value)) this.note([fault]);
    known.add(value);
  }

  demandNone(): void {
    if (this.faults.length > 0) throw badBody(this.faults);
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

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
