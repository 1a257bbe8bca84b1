import type { ErrorCode } from './frames.js';

/** What a caller has sent leaves nothing but to end its connection. */
export class ConnectionError extends Error {
  constructor(readonly code: ErrorCode) {
    super(`error ${code} of HTTP/2`);
    this.name = 'ConnectionError';
  }
}
