export { claimOf } from './claim.js';
export type { Condition } from './condition.js';
export { conditionSchema, FIELD_NAME } from './condition-fields.js';
export { AskedFields, canonicalField, isAddressField, requestField, type FieldValue, type RequestField } from './request-field.js';
