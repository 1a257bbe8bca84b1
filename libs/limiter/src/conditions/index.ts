export { claimOf } from './claim.js';
export type { Condition } from './condition.js';
export { fieldsLookedAt } from './fields-looked-at.js';
export { answerConditionSchema, conditionSchema, FIELD_NAME } from './condition-fields.js';
export { type FieldScalar, type FieldValue, isSeveral, JsonScalar } from './field-value.js';
export { AskedFields, canonicalField, isAddressField, isBodyField, requestField, type RequestField } from './request-field.js';
