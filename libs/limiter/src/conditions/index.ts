export type { Condition } from './condition.js';
export { fieldsLookedAt } from './fields-looked-at.js';
export { conditionSchema, FIELD_NAME } from './condition-fields.js';
export { AskedFields, canonicalField, isAddressField, requestField, type FieldValue, type RequestField } from './request-field.js';
