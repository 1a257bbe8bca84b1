import type { CallerLimit } from '../callers/caller-limit.js';
import { jsonAnswer } from '../http/answer.js';
import type { Route } from '../http/call.js';
import { openApiDocument } from './document.js';

/** GET /openapi.json: this document, to whoever may ask. Made when it is first asked for. */
export function documentCall(limit: CallerLimit): Route {
  let document: object | undefined;
  return {
    method: 'GET',
    handle: ({ caller }) => {
      limit.demand(caller, 1);
      return Promise.resolve(jsonAnswer((document ??= openApiDocument())));
    },
  };
}
