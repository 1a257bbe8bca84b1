import { type Fields, LABELS, NOTE, PLAN_NAME } from '#limiter';
import { MOMENT } from '../http/text-formats.js';

/** What is written of a plan; its rules have calls of their own. */
export const PLAN_FIELDS = {
  note: { ...NOTE, example: 'what every new merchant gets', explanation: 'What the plan is for, for people.' },
  labels: LABELS,
} as const satisfies Fields;

const IGNORED = 'It is accepted so that what was read can be sent back, and ignored.';

/** The path says which plan is written, and If-Match which version: what a body says of both is ignored. */
export const WRITTEN_PLAN_FIELDS = {
  ...PLAN_FIELDS,
  name: { kind: 'text', format: PLAN_NAME, example: 'pro', explanation: IGNORED },
  version: { kind: 'whole_number', min: 1, max: 2_147_483_647, explanation: IGNORED },
  createdAt: { kind: 'text', format: MOMENT, example: '2026-11-22T10:00:00.000Z', explanation: IGNORED },
  updatedAt: { kind: 'text', format: MOMENT, example: '2026-11-22T10:00:00.000Z', explanation: IGNORED },
} as const satisfies Fields;
