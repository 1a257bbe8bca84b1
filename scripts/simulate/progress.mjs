/** How far a run is, on stderr, so that stdout has the table only: a bar on a terminal, a line for each step elsewhere. */

const BAR_WIDTH = 24;

export class Progress {
  #done = 0;

  /**
   * @param {number} steps
   * @param {NodeJS.WriteStream} [stream]
   */
  constructor(steps, stream = process.stderr) {
    this.steps = steps;
    this.stream = stream;
  }

  /**
   * Says what is done next; call it before the step, because the step keeps the process busy.
   * @param {string} what
   */
  async step(what) {
    const share = Math.min(1, this.#done++ / this.steps);
    const percent = String(Math.floor(share * 100)).padStart(3);
    if (this.stream.isTTY) {
      const full = Math.round(share * BAR_WIDTH);
      this.stream.write(`\r\x1b[K${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${percent} %  ${what}`);
    } else {
      this.stream.write(`${percent} %  ${what}\n`);
    }
    // Lets the line out, and Ctrl-C in.
    await new Promise((resolve) => setImmediate(resolve));
  }

  done() {
    this.stream.write(this.stream.isTTY ? '\r\x1b[K' : '100 %\n');
  }
}
