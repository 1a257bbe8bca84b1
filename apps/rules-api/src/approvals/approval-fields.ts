import type { Fields } from '#limiter';
import { CHANGE_REASON_FIELDS } from '../http/change-reason.js';

/** Whoever proposed the change has to be told. */
export const REJECT_FIELDS = { reason: { ...CHANGE_REASON_FIELDS.reason, required: true } } as const satisfies Fields;
