import { fstatSync, writeSync } from 'node:fs';
import { type Writable } from 'node:stream';

/** What a reader of the log may be behind; lines beyond that are lost. */
const MAX_BACKLOG_BYTES = 1_048_576;

/**
 * Where the log goes: a stream that pino can write to and that never throws, never blocks this process, and never keeps it from
 * ending. The log tells what happens; what happens must not depend on somebody reading it. Lines are dropped, and
 * counted, while the reader is too far behind or the disk is full, and for good once the reader has gone.
 */
export interface LogOutput {
  write(line: string): void;
  /** Calls back when everything written so far is out or lost; never, while nobody reads. */
  flush(done: () => void): void;
}

/** @param onLost told of lines that were dropped, as soon as lines get through again */
export function logOutput(fd: 1 | 2, stream: Writable, onLost: (lines: number) => void): LogOutput {
  return isPipe(fd) ? new PipeOutput(stream, onLost) : new FileOutput(fd, onLost);
}

/** Node writes to these without blocking, and keeps what the kernel does not take. */
function isPipe(fd: number): boolean {
  try {
    const stat = fstatSync(fd);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    // Closed: writing fails, which is dealt with there.
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
    // EPIPE: the reader has gone, and does not come back to this pipe.
    stream.on('error', () => (this.gone = true));
    stream.on('drain', () => this.tellLost());
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

  private tellLost(): void {
    if (this.lost === 0) return;
    const lines = this.lost;
    this.lost = 0;
    this.onLost(lines);
  }
}

/** A file, a terminal, /dev/null: written at once. A full disk may have room for the next line. */
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
