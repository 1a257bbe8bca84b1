import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The connection on which an exchange takes place. */
export interface ExchangeConnection {
  readonly peer: string;
  readonly trusted: boolean;
  readonly socket: Socket;
  /** The last Host value that was found valid. */
  host: string;
  /** Whether the current answer is the last one. */
  readonly endsAfterCurrent: boolean;
  /** Ends the connection after the current answer: what follows on it is not looked at. */
  closeAfterResponse(): void;
  /** The exchange has handed its last byte to the response. */
  ended(exchange: { readonly response: ServerResponse }): void;
}
