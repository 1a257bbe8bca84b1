/** Whose a request is, in the headers that a trusted proxy has set. */
import { isUtf8 } from 'node:buffer';
import { rawValues } from '#edge';
import { isMerchantId, line } from '#limiter';
import { ProblemError } from '#platform';

const USER = line(128);

/** An empty text is what proxies send that know of no merchant. @throws ProblemError if there is none, not one, or none that could be a merchant's */
export function merchantIn(rawHeaders: readonly string[]): string {
  const [encoded = '', ...more] = rawValues(rawHeaders, 'x-merchant-id');
  if (encoded === '' && more.length === 0) throw unidentified(401, 'identity.missing', 'the header X-Merchant-Id is missing');
  if (more.length > 0) throw unidentified(400, 'identity.repeated', 'there is more than one header X-Merchant-Id');
  const merchant = utf8(encoded);
  if (!isMerchantId(merchant)) throw unidentified(400, 'identity.malformed', 'the header X-Merchant-Id is no id of a merchant');
  return merchant;
}

/** An empty text is what proxies send that know of no user. @throws ProblemError */
export function userIn(rawHeaders: readonly string[]): string | undefined {
  const [encoded = '', ...more] = rawValues(rawHeaders, 'x-user-id');
  if (more.length > 0) throw unidentified(400, 'identity.user_repeated', 'there is more than one header X-User-Id');
  if (encoded === '') return undefined;
  const user = utf8(encoded);
  if (user === undefined || USER.fault(user) !== undefined)
    throw unidentified(400, 'identity.user_malformed', 'the header X-User-Id is no id of a user');
  return user;
}

function unidentified(status: 400 | 401, code: string, detail: string): ProblemError {
  return new ProblemError({ status, type: 'unidentified-merchant', code, detail });
}

/** Undefined if the bytes are none: replacing them would make two different values the same. */
function utf8(latin1: string): string | undefined {
  const bytes = Buffer.from(latin1, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
}
