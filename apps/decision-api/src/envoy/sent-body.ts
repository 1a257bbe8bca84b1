import { isUtf8 } from 'node:buffer';
import type { CheckRequest } from '../decisions/check-request.js';
import { WITHOUT_BODY } from '../decisions/request-texts.js';

const JSON_TYPE = /^application\/(?:[^;\s]+\+)?json\s*(?:;|$)/i;

/** With `max_request_bytes` and `allow_partial_message` Envoy sends what it has of a body, and says so. */
export const PARTIAL_BODY_HEADER = 'x-envoy-auth-partial-body';

export interface SentBody {
  readonly method: string;
  /** Empty: none was said. */
  readonly contentType: string;
  readonly isPartial: boolean;
  /** Empty: Envoy has sent none, whatever the client did. */
  readonly body: string | Buffer;
}

/** What rules see of a body that Envoy has sent. One that it has not sent, or only in part, is one that nobody can read. */
export function sentBody({ method, contentType, isPartial, body }: SentBody): Pick<CheckRequest, 'body' | 'bodyUnknown'> {
  if (body.length > 0 && !isPartial && JSON_TYPE.test(contentType) && (typeof body === 'string' || isUtf8(body))) {
    try {
      return { body: JSON.parse(body.toString()) as unknown };
    } catch {
      // Nobody can read it.
    }
  }
  return { bodyUnknown: body.length > 0 || !WITHOUT_BODY.includes(method) };
}
