import type { Socket } from 'node:net';

/** Writes the frames of a turn in one piece. A caller that reads no answers is not read from. */
export class FrameWriter {
  private unwritten: Buffer[] = [];

  constructor(private readonly socket: Socket) {}

  write(bytes: Buffer): void {
    if (this.unwritten.length === 0) process.nextTick(this.flush);
    this.unwritten.push(bytes);
  }

  /** Without waiting for the end of the turn. */
  readonly flush = (): void => {
    const { socket, unwritten } = this;
    this.unwritten = [];
    if (socket.destroyed || unwritten.length === 0) return;
    if (socket.write(unwritten.length === 1 ? unwritten[0]! : Buffer.concat(unwritten))) return;
    socket.pause();
    socket.once('drain', () => socket.resume());
  };
}
