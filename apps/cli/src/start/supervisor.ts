/** Holds the parts of the running system, and stops all of them when one ends or when somebody wants it. */
import type { Part } from './child.js';
import type { State } from './state.js';

/** Parts are stopped in the order of these numbers: nothing loses what it needs while it still finishes its work. */
export const STOP = { gateway: 0, app: 1, service: 2 } as const;

type Turn = (typeof STOP)[keyof typeof STOP];

export class Supervisor {
  readonly #parts: { readonly part: Part; readonly turn: Turn }[] = [];
  #stopping = false;
  #end: (fault: string | undefined) => void = () => {};

  /** Resolves when the system is to end: with what went wrong, or undefined when somebody asked for it. */
  readonly ended = new Promise<string | undefined>((resolve) => (this.#end = resolve));

  constructor(private readonly state: State) {}

  /** How many parts were started. */
  get size(): number {
    return this.#parts.length;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  add(part: Part, turn: Turn): void {
    this.#parts.push({ part, turn });
    this.state.remember(part);
    void part.exited.then((code) => {
      if (this.#stopping) return;
      const lines = part.lastLines().trim().replace(/^/gm, '  ');
      const withCode = code === null ? '' : ` with code ${code}`;
      this.#end(`${part.name} ended by itself${withCode}.${lines.trim() ? ` Its last lines were:\n${lines}` : ''}`);
    });
  }

  /** Asks for the end of the system. */
  requestStop(): void {
    this.#end(undefined);
  }

  /** Stops every part. Takes seconds at most if all is well, and ends in SIGKILL if not. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.state.ending();
    for (const turn of Object.values(STOP)) {
      await Promise.all(this.#parts.filter((entry) => entry.turn === turn).map(({ part }) => part.stop()));
    }
  }

  /** For a second Ctrl-C: no more patience with anybody. */
  killAll(): void {
    for (const { part } of this.#parts) {
      try {
        process.kill(part.pid, part.name === 'PostgreSQL' ? 'SIGQUIT' : 'SIGKILL');
      } catch {
        // Gone already.
      }
    }
  }
}
