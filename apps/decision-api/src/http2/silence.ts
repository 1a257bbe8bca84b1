/** How long connections may be silent. Milliseconds. */
export interface ConnectionSilence {
  /** A connection is asked so often whether somebody is there. */
  readonly askEveryMs: number;
  /** How long the answer to that may take. */
  readonly answerWithinMs: number;
  /** A connection without calls is ended. */
  readonly idleMs: number;
}

interface Watched {
  /** Asks whether somebody is there. */
  readonly ask: () => void;
  readonly isIdle: () => boolean;
  /** Ends the connection in order. */
  readonly leave: () => void;
  readonly cut: () => void;
}

/** Ends a connection on which nobody answers, and one without calls. */
export class Silence {
  private readonly asking: NodeJS.Timeout;
  private idling: NodeJS.Timeout;
  private waiting: NodeJS.Timeout | undefined;
  private idleSinceMs = performance.now();

  constructor(
    private readonly silence: ConnectionSilence,
    private readonly watched: Watched,
  ) {
    this.asking = setInterval(this.ask, silence.askEveryMs);
    this.idling = setTimeout(this.look, silence.idleMs);
    // It has to say something first.
    this.wait();
  }

  /** The last call has ended. */
  idle(): void {
    this.idleSinceMs = performance.now();
  }

  /** Somebody is there. */
  answered(): void {
    clearTimeout(this.waiting);
    this.waiting = undefined;
  }

  close(): void {
    clearInterval(this.asking);
    clearTimeout(this.idling);
    this.answered();
  }

  private readonly ask = (): void => {
    if (this.waiting !== undefined) return;
    this.watched.ask();
    this.wait();
  };

  private wait(): void {
    // A process that was held up itself reads first what has come meanwhile.
    this.waiting = setTimeout(() => setImmediate(() => this.waiting !== undefined && this.watched.cut()), this.silence.answerWithinMs);
  }

  private readonly look = (): void => {
    const { silence, watched } = this;
    const leftMs = watched.isIdle() ? this.idleSinceMs + silence.idleMs - performance.now() : silence.idleMs;
    if (leftMs <= 0) watched.leave();
    else this.idling = setTimeout(this.look, Math.ceil(leftMs));
  };
}
