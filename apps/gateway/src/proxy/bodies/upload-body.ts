import { Readable } from 'node:stream';
import type { ClientRequest } from '../messages/client-message.js';

const BUFFERED_BYTES = 64 * 1024;

/**
 * A request body on its way to the upstream. undici destroys the body it was given when an exchange fails; were that
 * the client's request itself, its connection would stop being read and could not carry the answer. This stands in
 * between: when it is destroyed, the rest of the request is read and thrown away.
 */
export class UploadBody extends Readable {
  /** Whether it is the client that is waited for. */
  waits = false;
  /** Whether the client was waited for all the time. Set to false here whenever it was not; others set it to true again. */
  alwaysWaited = false;

  /**
   * @param beginning of the body, as it has been read already
   * @param received bytes that have come from the client
   * @param longest bytes that may come; `onTooLong` is called when there are more, and they are not sent on
   */
  constructor(
    private readonly request: ClientRequest,
    beginning: readonly Buffer[],
    public received: number,
    private readonly longest: number,
    private readonly onTooLong: () => void,
  ) {
    super({ highWaterMark: BUFFERED_BYTES });
    for (const chunk of beginning) this.push(chunk);
    // undici stops listening for errors when its exchange is over; a late one must not end the process.
    this.on('error', ignore);
    request.on('data', this.onData).on('end', this.onEnd).on('close', this.onClose);
    // It may have ended while nobody listened, between the beginning and now.
    if (request.readableEnded) this.push(null);
  }

  private readonly onData = (chunk: Buffer): void => {
    this.received += chunk.length;
    if (this.received > this.longest) {
      this.onTooLong();
      return;
    }
    if (this.push(chunk)) return;
    this.waits = false;
    this.alwaysWaited = false;
    this.request.pause();
  };

  private readonly onEnd = (): void => {
    this.waits = false;
    this.push(null);
  };

  private readonly onClose = (): void => {
    if (!this.request.complete) this.destroy(new Error('the client closed the connection'));
  };

  override _read(): void {
    this.waits = true;
    this.request.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.waits = false;
    this.request.off('data', this.onData).off('end', this.onEnd).off('close', this.onClose);
    this.request.resume();
    done(error);
  }
}

function ignore(): void {}
