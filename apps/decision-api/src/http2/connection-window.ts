import { ConnectionError } from './connection-error.js';
import { ErrorCode, FIRST_WINDOW } from './frames.js';

/** What may come on a connection before it was looked at. It is looked at at once: bytes that have to wait are counted by those who keep them. */
const WINDOW = 16 * 1024 * 1024;

/** What the caller may send on a connection, of all streams together. Bytes count as used as soon as they are here. */
export class ConnectionWindow {
  private left = WINDOW;
  private unread = 0;

  /** @param widen tells the caller that it may send so much more */
  constructor(private readonly widen: (bytes: number) => void) {}

  /** Every connection begins with a smaller one. */
  open(): void {
    this.widen(WINDOW - FIRST_WINDOW);
  }

  /** @throws ConnectionError if the caller has sent more than it may */
  came(bytes: number): void {
    this.left -= bytes;
    if (this.left < 0) throw new ConnectionError(ErrorCode.FlowControl);
    this.unread += bytes;
    if (this.unread < WINDOW / 2) return;
    this.widen(this.unread);
    this.left += this.unread;
    this.unread = 0;
  }
}
