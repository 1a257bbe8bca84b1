import { runningTime, type RunningTime } from '#waiting';

export interface HedgeOptions {
  /** The second one is asked once the first has been silent for so long. Milliseconds of running time. */
  readonly afterMs: number;
  /** So many questions at once are watched, and put to the second one, at most. */
  readonly atOnce: number;
  /** For tests. */
  readonly time?: Pick<RunningTime, 'after'>;
}

export interface Sooner<First, Second> {
  /** Undefined if the second one was faster. */
  readonly first: First | undefined;
  /** What the second one says: it is asked now, unless it has been asked already. */
  readonly second: () => Promise<Second>;
}

/**
 * Asks a second one beside a first one that is silent, instead of after it. Only the first few of those who wait have that: where many wait, the
 * second one is to be spared.
 */
export class Hedge {
  private underWay = 0;

  constructor(private readonly options: HedgeOptions) {}

  /**
   * Resolves when the first has answered, whatever it says, or the second has. A second one that fails is no answer.
   *
   * @param first does not reject
   */
  async sooner<First, Second>(first: Promise<First>, ask: () => Promise<Second>): Promise<Sooner<First, Second>> {
    if (this.underWay >= this.options.atOnce) return { first: await first, second: ask };
    this.underWay++;
    return new Promise((resolve) => {
      const { afterMs, time = runningTime } = this.options;
      let asked: Promise<Second> | undefined;
      const second = (): Promise<Second> => asked ?? ask();
      const callOff = time.after(afterMs, () => {
        asked = ask();
        asked
          .then(
            () => resolve({ first: undefined, second }),
            () => {},
          )
          .finally(() => this.underWay--);
      });
      void first.then((answer) => {
        callOff();
        if (asked === undefined) this.underWay--;
        resolve({ first: answer, second });
      });
    });
  }
}
