import type { EntityManager } from 'typeorm';
import { CONSISTENCY, languageOf, type RuleSpec } from '#limiter';
import { violatedConstraint } from '../connection/availability.js';
import { RuleNameTakenError } from '../connection/errors.js';
import { ownerColumns, type RuleOwner } from './rule-owner.js';
import { RULE_NAME_OF_DEFAULT, RULE_NAME_OF_MERCHANT, RULE_NAME_OF_PLAN, type RuleEntity } from './rule.entity.js';
import { consistencyText, storeFailureLeased, storeFailureText } from './stored-consistency.js';
import { costNumber, costOfField } from './stored-cost.js';
import { modeText } from './stored-mode.js';

/** What a rule is written without is not left as it was. A rule of a plan is stored as one that is not enabled: see `planEnabled`. */
export function stored(spec: RuleSpec, owner: RuleOwner) {
  const columns = ownerColumns(owner);
  const isOfPlan = columns.plan !== null;
  const enabled = { enabled: spec.enabled && !isOfPlan, planEnabled: isOfPlan ? spec.enabled : null };
  const beside = { costOfField: costOfField(spec.cost), storeFailureLeased: storeFailureLeased(spec.onStoreFailure) };
  return Object.assign(complete(spec), beside, columns, enabled);
}

/**
 * The parts of a rule, also those that it is written without. They are named one by one, and what is made of them is assigned to: spreading objects of so
 * many parts takes a hundred times as long, and a file has 100,000 rules.
 */
export function complete(spec: RuleSpec): Required<RuleSpec> & Pick<RuleEntity, 'language'> {
  return {
    name: spec.name,
    note: spec.note ?? '',
    labels: spec.labels ?? {},
    layer: spec.layer,
    priority: spec.priority,
    enabled: spec.enabled,
    mode: spec.mode,
    validFrom: spec.validFrom ?? null,
    validTo: spec.validTo ?? null,
    schedule: spec.schedule ?? null,
    match: spec.match,
    key: spec.key,
    limits: spec.limits,
    cost: spec.cost,
    charge: spec.charge ?? null,
    onUnreadableBody: spec.onUnreadableBody ?? null,
    onStoreFailure: spec.onStoreFailure,
    penalty: spec.penalty ?? null,
    onLimit: spec.onLimit ?? null,
    reserve: spec.reserve ?? null,
    consistency: spec.consistency ?? CONSISTENCY.default,
    language: languageOf(spec),
  };
}

const NAMES: readonly (string | undefined)[] = [RULE_NAME_OF_MERCHANT, RULE_NAME_OF_DEFAULT, RULE_NAME_OF_PLAN];

export async function nameTaken<T>(name: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (NAMES.includes(constraint)) throw new RuleNameTakenError(name);
    throw error;
  }
}

/** The database gives ids out itself; only a rule that comes back brings its own. */
export async function insertWithId(
  manager: EntityManager,
  id: string,
  values: Omit<ReturnType<typeof stored>, 'limits'> & Pick<RuleEntity, 'limits' | 'version'>,
): Promise<void> {
  const { merchantId, name, layer, priority, enabled, mode, match, key, limits, cost, onStoreFailure, penalty, note, labels, version } =
    values;
  const { validFrom, validTo, schedule, language, charge, onUnreadableBody, onLimit, reserve, consistency } = values;
  await manager.query(
    `INSERT INTO rule (id, merchant_id, name, layer, priority, enabled, mode, match, key, limits, cost, on_store_failure, penalty, note, labels, version,
       valid_from, valid_to, schedule, language, plan, plan_enabled, cost_of_field, charge, on_unreadable_body, on_limit, reserve,
       consistency, store_failure_leased)
     OVERRIDING SYSTEM VALUE
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29)`,
    [
      id,
      merchantId,
      name,
      layer,
      priority,
      enabled,
      modeText(mode),
      ...[match, key, limits].map((value) => JSON.stringify(value)),
      costNumber(cost),
      storeFailureText(onStoreFailure),
      penalty ? JSON.stringify(penalty) : null,
      note,
      JSON.stringify(labels),
      version,
      validFrom,
      validTo,
      schedule ? JSON.stringify(schedule) : null,
      language,
      values.plan,
      values.planEnabled,
      values.costOfField ? JSON.stringify(values.costOfField) : null,
      charge ? JSON.stringify(charge) : null,
      onUnreadableBody,
      onLimit ? JSON.stringify(onLimit) : null,
      reserve ? JSON.stringify(reserve) : null,
      consistencyText(consistency),
      values.storeFailureLeased,
    ],
  );
}
