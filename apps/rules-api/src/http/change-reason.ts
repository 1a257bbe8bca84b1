import { isUtf8 } from 'node:buffer';
import { ProblemError } from '#platform';

const MAX_LENGTH = 500;

/**
 * Why a change is made, from X-Change-Reason. curl sends the bytes of UTF-8, a browser those of Latin-1, and Node reads both as Latin-1.
 * @throws ProblemError 400 for what is no short text
 */
export function changeReason(header: string | string[] | undefined): string | undefined {
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
