import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Drainable, ShownCertificate } from '#edge';
import type { Callers } from '../callers/callers.js';

/** Calls of one connection at once: whoever does not wait for answers has to wait here. */
const MOST_AT_ONCE = 256;

/** One connection of a caller. */
export class CallerConnection implements Drainable {
  private underWay = 0;
  private readonly leaving = new AbortController();
  /** The last credentials with which a call was made, and by whom. */
  private known: { readonly sent: string; readonly caller: string } | undefined;

  constructor(
    private readonly socket: Socket,
    /** In canonical text. */
    readonly peer: string,
    /** What was shown when the connection began. */
    private readonly shown: ShownCertificate | null = null,
  ) {}

  /** Whoever asks here has gone, or sends nothing more. */
  get left(): AbortSignal {
    return this.leaving.signal;
  }

  get idle(): boolean {
    return this.underWay === 0;
  }

  get activity(): number {
    return this.socket.bytesRead;
  }

  get mayBegin(): boolean {
    return this.underWay < MOST_AT_ONCE;
  }

  began(): void {
    this.underWay++;
  }

  answered(): void {
    this.underWay--;
  }

  /** Who makes a call. The same credentials as before need not be hashed again. @throws ProblemError */
  callerOf(request: Pick<IncomingMessage, 'headers'>, callers: Callers): string {
    // Looked at each time: it may end while the connection goes on.
    if (this.shown !== null) return callers.named('', this.peer, this.shown);
    const sent = callers.credentialIn(request);
    if (this.known === undefined || this.known.sent !== sent) this.known = { sent, caller: callers.named(sent, this.peer) };
    return this.known.caller;
  }

  ended(): void {
    this.leaving.abort();
  }

  /** Behind the answers of this turn, which are written at its end. */
  closeQuietly(): void {
    setImmediate(() => this.socket.destroySoon());
  }

  cut(): void {
    this.socket.destroy();
  }
}
