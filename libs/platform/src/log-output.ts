import { fstatSync, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';

/** How far the reader of the log may fall behind; further lines are lost. */
const MAX_BACKLOG_BYTES = 1_048_576;

/**
 * The output of the log: a stream for pino that never throws, never blocks this process, and never keeps it from ending, because the
 * work of an app must not depend on a reader of its log. Lines are dropped and counted while the reader is too far behind or the
 * disk is full. Once the reader has closed the pipe, all lines are dropped.
 */
export interface LogOutput {
  write(line: string): void;
  /** Calls back when everything written so far has been read or lost. While nobody reads a pipe, it never calls back. */
  flush(done: () => void): void;
}

/** @param onLost called with the number of dropped lines as soon as lines get through again */
export function logOutput(fd: 1 | 2, stream: Writable, onLost: (lines: number) => void): LogOutput {
  return isPipe(fd) ? new PipeOutput(stream, onLost) : new FileOutput(fd, onLost);
}

/** Node writes to pipes and sockets without blocking, and buffers what the kernel does not accept. */
function isPipe(fd: number): boolean {
  try {
    const stat = fstatSync(fd);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    // The descriptor is closed: writing fails, and the write handles that.
    return false;
  }
}

export class PipeOutput implements LogOutput {
  private lost = 0;
  private gone = false;

  constructor(
    private readonly stream: Writable,
    private readonly onLost: (lines: number) => void,
    private readonly maxBacklogBytes = MAX_BACKLOG_BYTES,
  ) {
    // EPIPE: the reader has closed this pipe for good.
    stream.on('error', () => (this.gone = true));
    stream.on('drain', () => this.reportLost());
  }

  write(line: string): void {
    if (this.gone) return;
    if (this.stream.writableLength >= this.maxBacklogBytes) this.lost++;
    else this.stream.write(line);
  }

  flush(done: () => void): void {
    if (this.gone || this.stream.writableLength === 0) done();
    else this.stream.write('', () => done());
  }

  private reportLost(): void {
    if (this.lost === 0) return;
    const lines = this.lost;
    this.lost = 0;
    this.onLost(lines);
  }
}

/** Writes a file, a terminal or /dev/null synchronously. After a full disk, the next line may succeed again. */
export class FileOutput implements LogOutput {
  private lost = 0;

  constructor(
    private readonly fd: number,
    private readonly onLost: (lines: number) => void,
    private readonly put: (fd: number, line: string) => void = writeSync,
  ) {}

  write(line: string): void {
    try {
      this.put(this.fd, line);
    } catch {
      this.lost++;
      return;
    }
    if (this.lost === 0) return;
    const lines = this.lost;
    this.lost = 0;
    this.onLost(lines);
  }

  flush(done: () => void): void {
    done();
  }
}
