import type { Fields } from '#limiter';
import { MOMENT } from './text-formats.js';

/** Explains a field that an answer has and that nobody can write. */
export const IGNORED = 'The server sets it. It is accepted so that what was read can be sent back, and ignored.';

/** What every answer has that has a version. If-Match says which version is changed: what a body says is ignored. */
export const READ_FIELDS = {
  version: { kind: 'whole_number', min: 1, max: 2_147_483_647, explanation: IGNORED },
  createdAt: { kind: 'text', format: MOMENT, example: '2026-11-22T10:00:00.000Z', explanation: IGNORED },
  updatedAt: { kind: 'text', format: MOMENT, example: '2026-11-22T10:00:00.000Z', explanation: IGNORED },
} as const satisfies Fields;
