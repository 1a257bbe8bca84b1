/** A log file of bounded size: when it is full it becomes NAME.1, and a new one is begun. */
import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const LARGEST_BYTES = 5 * 1024 * 1024;

export class LogFile {
  #bytes: number;

  constructor(private readonly path: string) {
    mkdirSync(dirname(path), { recursive: true });
    this.#bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }

  write(text: string): void {
    try {
      if (this.#bytes > LARGEST_BYTES) {
        renameSync(this.path, `${this.path}.1`);
        this.#bytes = 0;
      }
      appendFileSync(this.path, text);
      this.#bytes += Buffer.byteLength(text);
    } catch {
      // A full disk must not take the system down with it.
    }
  }
}
