import { type Fields, LABELS, NOTE, PLAN_NAME } from '#limiter';
import { IGNORED, READ_FIELDS } from '../http/read-fields.js';

/** What is written of a plan; its rules have calls of their own. */
export const PLAN_FIELDS = {
  note: { ...NOTE, example: 'what every new merchant gets', explanation: 'What the plan is for, for people.' },
  labels: LABELS,
} as const satisfies Fields;

/** The path says which plan is written, and If-Match which version: what a body says of both is ignored. */
export const WRITTEN_PLAN_FIELDS = {
  ...PLAN_FIELDS,
  name: { kind: 'text', format: PLAN_NAME, example: 'pro', explanation: IGNORED },
  ...READ_FIELDS,
} as const satisfies Fields;
