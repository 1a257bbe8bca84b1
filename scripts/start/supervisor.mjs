/** Holds the parts of the running system, and stops all of them when one ends or when somebody wants it. */

/** @typedef {import('./child.mjs').Part} Part */

/** Stops in the order of these numbers: nothing loses what it needs while it still finishes its work. */
export const STOP = { gateway: 0, app: 1, service: 2 };

export class Supervisor {
  /** @type {{ part: Part, order: number }[]} */
  #parts = [];
  #stopping = false;
  /** @type {(reason: string | undefined) => void} */
  #end = () => {};

  /** Resolves when the system is to end: with what went wrong, or undefined when somebody asked for it. @type {Promise<string | undefined>} */
  ended = new Promise((resolve) => (this.#end = resolve));

  /** @param {import('./state.mjs').State} state */
  constructor(state) {
    this.state = state;
  }

  /** How many parts were started. */
  get size() {
    return this.#parts.length;
  }

  get stopping() {
    return this.#stopping;
  }

  /**
   * @param {Part} part
   * @param {number} order one of STOP
   */
  add(part, order) {
    this.#parts.push({ part, order });
    this.state.remember(part);
    part.exited.then((code) => {
      if (this.#stopping) return;
      const lines = part.lastLines().trim();
      this.#end(
        `${part.name} ended by itself${code === null ? '' : ` with code ${code}`}.${lines ? ` Its last lines were:\n${indented(lines)}` : ''}`,
      );
    });
  }

  /** Asks for the end of the system. */
  requestStop() {
    this.#end(undefined);
  }

  /** Stops every part. Takes seconds at most if all is well, and ends in SIGKILL if not. */
  async stop() {
    this.#stopping = true;
    this.state.ending();
    for (const order of Object.values(STOP)) {
      await Promise.all(this.#parts.filter((entry) => entry.order === order).map(({ part }) => part.stop()));
    }
  }

  /** For a second Ctrl-C: no more patience with anybody. */
  killAll() {
    for (const { part } of this.#parts) {
      try {
        process.kill(part.pid, part.name === 'PostgreSQL' ? 'SIGQUIT' : 'SIGKILL');
      } catch {
        // Gone already.
      }
    }
  }
}

/** @param {string} text */
const indented = (text) => text.replace(/^/gm, '  ');
