export { claimOf, isClaimField } from './claim.js';
export { type Condition, fieldsIn } from './condition.js';
export { answerConditionSchema, conditionSchema, FIELD_NAME } from './condition-fields.js';
export { type FieldScalar, type FieldValue, isSeveral, JsonScalar } from './field-value.js';
export { AskedFields, canonicalField, isAddressField, isBodyField, requestField, type RequestField } from './request-field.js';
