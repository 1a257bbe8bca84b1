import { setImmediate as nextTurn } from 'node:timers/promises';
import { Progress } from '../shared/progress.js';

/** The progress of a run in steps, on stderr, so that stdout has the table only. */
export class Steps {
  readonly #progress = new Progress(process.stderr);
  #done = 0;

  constructor(private readonly total: number) {}

  /** Says what is done next; called before the step, because the step keeps the process busy. */
  async next(what: string): Promise<void> {
    this.#progress.show(this.#done++ / this.total, what);
    // Lets the line out, and Ctrl-C in.
    await nextTurn();
  }

  end(): void {
    this.#progress.show(1, 'done');
    this.#progress.end();
  }
}
