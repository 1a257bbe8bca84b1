import { storedMode } from './stored-mode.js';

/** What readers of snapshots select of a rule. */
export const RULE_COLUMNS = `r.id AS rule_id, r.name, r.layer, r.priority, r.enabled, r.mode, r.match, r.key, r.limits, r.cost, r.on_store_failure, r.penalty,
  r.valid_from, r.valid_to, r.schedule, r.language, r.cost_of_field, r.charge, r.on_unreadable_body, r.on_limit, r.reserve, r.consistency`;

/** Of a plan: see `planEnabled` of the entity. */
export const PLAN_RULE_COLUMNS = RULE_COLUMNS.replace('r.enabled', 'r.plan_enabled AS enabled');

/** The columns hold JSON of any shape and any text; nulls if there is no rule. */
export interface RuleRow extends Readonly<
  Record<
    | 'name'
    | 'layer'
    | 'priority'
    | 'enabled'
    | 'mode'
    | 'match'
    | 'key'
    | 'limits'
    | 'cost'
    | 'penalty'
    | 'on_store_failure'
    | 'valid_from'
    | 'valid_to'
    | 'schedule'
    | 'language'
    | 'cost_of_field'
    | 'charge'
    | 'on_unreadable_body'
    | 'on_limit'
    | 'reserve'
    | 'consistency',
    unknown
  >
> {
  readonly rule_id: string | null;
}

/** The columns under the names of a rule's fields. storedRules checks their content. */
export function asRule({
  rule_id: id,
  name,
  layer,
  priority,
  enabled,
  mode,
  match,
  key,
  limits,
  cost,
  penalty,
  on_store_failure: onStoreFailure,
  valid_from: validFrom,
  valid_to: validTo,
  schedule,
  language,
  cost_of_field: costOfField,
  charge,
  on_unreadable_body: onUnreadableBody,
  on_limit: onLimit,
  reserve,
  consistency,
}: RuleRow): unknown {
  return {
    id,
    name,
    layer,
    priority,
    enabled,
    mode: storedMode(mode),
    match,
    key,
    limits,
    cost: costOfField ?? cost,
    onStoreFailure,
    penalty,
    validFrom,
    validTo,
    schedule,
    language,
    charge,
    onUnreadableBody,
    onLimit,
    reserve,
    consistency,
  };
}
