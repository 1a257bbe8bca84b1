import { unreadableByHead } from '#edge';
import { type BodyFacts, NO_BODY, readBody, unreadableBody } from '#limiter';
import type { ClientRequest } from '../messages/client-message.js';
import type { DataPlane } from '../data-plane.js';
import type { MerchantLoad } from '../sharing/merchant-load.js';
import { PROBLEMS, type Problem } from '../problems.js';
import { RequestBody } from './request-body.js';
import type { RequestHead } from '../messages/request-hygiene.js';
import type { ShedReason } from '../sharing/shedding.js';

/** The exchange whose body is read before the request is decided about. */
interface ReadExchange {
  readonly head: RequestHead;
  /** As they are forwarded. */
  headerValues(name: string): readonly string[];
  shed(reason: ShedReason, problem: Problem): void;
  bodyTooLong(): void;
}

/**
 * The body that is to be collected, as it is going to be forwarded. `read` is told what is in it; at once, and nothing is waited for, if there is no
 * body or its headers say that it cannot be read.
 */
export function bodyToRead(
  exchange: ReadExchange,
  plane: DataPlane,
  load: MerchantLoad,
  request: ClientRequest,
  maxBodyBytes: number,
  read: (body: BodyFacts) => void,
): RequestBody | null {
  const { bodyLength } = exchange.head;
  if (bodyLength === 0) {
    read(NO_BODY);
    return null;
  }
  const unreadable = unreadableByHead({ headerValues: (name) => exchange.headerValues(name) }, bodyLength);
  if (unreadable !== undefined) {
    read(unreadableBody(unreadable));
    return null;
  }
  const owner = {
    collected: () => read(body.collectedBytes === undefined ? unreadableBody('too_large') : readBody(body.collectedBytes)),
    notCollected: () => exchange.shed('buffered_bytes', PROBLEMS.bufferedBytes),
    tooLong: () => exchange.bodyTooLong(),
  };
  const body = new RequestBody(plane, load, request, bodyLength, owner, maxBodyBytes);
  return body;
}
