import type { EntityManager } from 'typeorm';
import { languageOf, type RuleSpec } from '#limiter';
import { violatedConstraint } from './availability.js';
import { RuleNameTakenError } from './errors.js';
import { RULE_NAME_OF_DEFAULT, RULE_NAME_OF_MERCHANT, type RuleEntity } from './rule.entity.js';
import { modeText } from './stored-mode.js';

/** What a rule is written without is not left as it was. */
export function complete(spec: RuleSpec): CompleteRule {
  return { penalty: null, note: '', labels: {}, validFrom: null, validTo: null, schedule: null, ...spec, language: languageOf(spec) };
}

export type CompleteRule = Required<RuleSpec> & Pick<RuleEntity, 'language'>;

export async function nameTaken<T>(name: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint === RULE_NAME_OF_MERCHANT || constraint === RULE_NAME_OF_DEFAULT) throw new RuleNameTakenError(name);
    throw error;
  }
}

/** The database gives ids out itself; only a rule that comes back brings its own. */
export async function insertWithId(
  manager: EntityManager,
  id: string,
  values: Omit<CompleteRule, 'limits'> & Pick<RuleEntity, 'limits' | 'merchantId' | 'version'>,
): Promise<void> {
  const { merchantId, name, layer, priority, enabled, mode, match, key, limits, cost, onStoreFailure, penalty, note, labels, version } =
    values;
  const { validFrom, validTo, schedule, language } = values;
  await manager.query(
    `INSERT INTO rule (id, merchant_id, name, layer, priority, enabled, mode, match, key, limits, cost, on_store_failure, penalty, note, labels, version, valid_from, valid_to, schedule, language)
     OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`,
    [
      id,
      merchantId,
      name,
      layer,
      priority,
      enabled,
      modeText(mode),
      ...[match, key, limits].map((value) => JSON.stringify(value)),
      cost,
      onStoreFailure,
      penalty ? JSON.stringify(penalty) : null,
      note,
      JSON.stringify(labels),
      version,
      validFrom,
      validTo,
      schedule ? JSON.stringify(schedule) : null,
      language,
    ],
  );
}
