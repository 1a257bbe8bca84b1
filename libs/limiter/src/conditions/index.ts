export type { Condition } from './condition.js';
export { conditionSchema, FIELD_NAME } from './condition-fields.js';
export { AskedFields, canonicalField, requestField, type FieldValue, type RequestField } from './request-field.js';
