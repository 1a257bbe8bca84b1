import { isUtf8 } from 'node:buffer';
import { type Fields, line } from '#limiter';
import { ProblemError } from '#platform';
import { badBody } from './validation.pipe.js';

const MAX_LENGTH = 500;

/** What every body of a change may have beside its own fields. */
export const CHANGE_REASON_FIELDS = {
  reason: {
    kind: 'text',
    format: line(MAX_LENGTH),
    example: 'ticket OPS-17',
    explanation: 'Why the change is made. The audit keeps it. X-Change-Reason says the same; one of both is enough.',
  },
} as const satisfies Fields;

/**
 * Why a change is made, from X-Change-Reason or from the field `reason` of the body. A field that is no such text is left to the check of the body, which
 * names every wrong field.
 * @throws ProblemError 400 for a header that is no short text, and if the two differ: nobody knows which one is meant
 */
export function changeReason(header: string | string[] | undefined, body?: unknown): string | undefined {
  const ofHeader = headerReason(header);
  const ofBody = bodyReason(body);
  if (ofHeader !== undefined && ofBody !== undefined && ofHeader !== ofBody) {
    const detail = 'differs from the header X-Change-Reason: send one of both, or the same in both';
    throw badBody([{ pointer: '/reason', code: 'change_reason.contradictory', detail }]);
  }
  return ofBody ?? ofHeader;
}

/** curl sends the bytes of UTF-8, a browser those of Latin-1, and Node reads both as Latin-1. */
function headerReason(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const bytes = Buffer.from(String(header), 'latin1');
  const text = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1').trim();
  if (text === '') return undefined;
  if (text.length <= MAX_LENGTH && !/\p{Cc}/u.test(text)) return text;
  throw new ProblemError({
    status: 400,
    code: 'header.change_reason.malformed',
    detail: `X-Change-Reason must be a text of at most ${MAX_LENGTH} characters, without control characters`,
  });
}

function bodyReason(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { reason } = body as { readonly reason?: unknown };
  return typeof reason === 'string' && CHANGE_REASON_FIELDS.reason.format.fault(reason) === undefined ? reason : undefined;
}
