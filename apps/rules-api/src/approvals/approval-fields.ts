import { type Fields, line } from '#limiter';

const REASON = {
  kind: 'text',
  format: line(500),
  example: 'talked to the merchant',
  explanation: 'Why. The audit keeps it; X-Change-Reason says the same.',
} as const;

export const APPROVE_FIELDS = { reason: REASON } as const satisfies Fields;

/** Whoever proposed the change has to be told. */
export const REJECT_FIELDS = { reason: { ...REASON, required: true } } as const satisfies Fields;
