/** Merchants as PostgreSQL copies them to the preloader, made up. */
import { MerchantRows } from '#rules-db';
import { merchantId, ruleId, ruleOf } from './merchants.mjs';

const NULL = '\\N';
const [asText, asJson] = [(/** @type {string} */ text) => text, (/** @type {string} */ text) => JSON.parse(text)];

/** Of a merchant, then of a rule, in the order in which they are copied, and what the driver makes of them. */
const COLUMNS = Object.entries({
  merchant_id: asText,
  rules_version: asText,
  time_zone: asText,
  plan: asText,
  overrides: asJson,
  rule_id: asText,
  name: asText,
  layer: asText,
  priority: Number,
  enabled: (/** @type {string} */ text) => text === 't',
  mode: asText,
  match: asJson,
  key: asJson,
  limits: asJson,
  cost: Number,
  on_store_failure: asText,
  penalty: asJson,
  valid_from: asText,
  valid_to: asText,
  schedule: asJson,
  language: Number,
  cost_of_field: asJson,
  charge: asJson,
  on_unreadable_body: asText,
  on_limit: asJson,
  reserve: asJson,
  consistency: asText,
}).map(([name, parse]) => ({ name, parse }));

/** The columns behind `on_store_failure` of a rule that has none of those parts; `language` is the fifth. */
const OTHERS = Array.from({ length: 11 }, (_, i) => (i === 4 ? '1' : NULL));

/** JSON as PostgreSQL writes it: a space behind each colon and comma. @param {unknown} value */
const json = (value) => JSON.stringify(value).replaceAll('":', '": ').replaceAll(',', ', ');

/** @param {import('../../libs/limiter/src/rule.js').Rule} rule */
function columnsOf({ name, layer, priority, mode, match, key, limits, cost, onStoreFailure }) {
  return [name, layer, priority, 't', mode, ...[match, key, limits].map(json), cost, onStoreFailure, ...OTHERS].join('\t');
}

/** Made once: all merchants have the same rule but for its id. */
const COLUMNS_OF_ALL = columnsOf(ruleOf(0));

/** The merchant of `snapshotOf`. @param {number} index */
export function copiedRows(index) {
  const merchant = new MerchantRows([merchantId(index), '1', 'UTC', NULL, NULL], COLUMNS);
  merchant.rules.push({ id: ruleId(index), columns: COLUMNS_OF_ALL });
  return merchant;
}
