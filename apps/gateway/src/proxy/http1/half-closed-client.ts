import type { Socket } from 'node:net';

const LOOK_EVERY_MS = 1_000;

/** Looks in which nothing of an answer came for the client. */
const MOST_LOOKS_WITHOUT_PROGRESS = 5;

/** The exchange that the client waits for. */
export interface AwaitedExchange {
  /** Writes an interim answer, which every client of HTTP/1.1 has to skip. False: the answer itself is under way. */
  writeInterim(): boolean;
}

/**
 * Watches a client that has closed its sending side, and perhaps the other one too. Only writing tells: an interim answer, or the answer
 * itself. When there is nothing to write for a while, the client is taken for gone.
 */
export class HalfClosedClient {
  private readonly timer: NodeJS.Timeout;
  private writtenAtLook = -1;
  private looksWithoutProgress = 0;

  constructor(
    private readonly socket: Socket,
    private readonly current: () => AwaitedExchange | null,
  ) {
    this.timer = setInterval(() => this.look(), LOOK_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const exchange = this.current();
    if (exchange === null || exchange.writeInterim()) return;
    const { socket } = this;
    // What waits for a client that reads slowly is the kernel's to get rid of, or to give up.
    const stoodStill = socket.writableLength === 0 && socket.bytesWritten === this.writtenAtLook;
    this.looksWithoutProgress = stoodStill ? this.looksWithoutProgress + 1 : 0;
    this.writtenAtLook = socket.bytesWritten;
    if (this.looksWithoutProgress >= MOST_LOOKS_WITHOUT_PROGRESS) socket.destroy();
  }
}
