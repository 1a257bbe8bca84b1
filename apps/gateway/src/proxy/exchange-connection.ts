import type { ShownCertificate } from '#edge';
import type { AnsweredConnection, ClientResponse } from './messages/client-message.js';

/** The connection on which an exchange takes place. */
export interface ExchangeConnection extends AnsweredConnection {
  readonly peer: string;
  readonly trusted: boolean;
  /** Whether nobody on the way can read along. */
  readonly secure: boolean;
  /** What the client has shown of itself on this connection; null: nothing. */
  readonly certificate: ShownCertificate | null;
  /** The last Host value that was found valid. */
  host: string;
  /** Ends the connection after the current answer: what follows on it is not looked at. */
  closeAfterResponse(): void;
  /** The exchange has handed its last byte to the response. */
  ended(exchange: { readonly response: ClientResponse }): void;
  /** Breaks the answer off, so that the client sees that the rest is missing. */
  cut(): void;
  /** Nothing may come in either direction for so long, while this request is under way. Milliseconds. */
  allowSilence(ms: number): void;
}
