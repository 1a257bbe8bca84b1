import { runningTime, type RunningTime } from './running-time.js';

export interface DeadlineOptions {
  /** What is waited for; named by the error. */
  readonly what?: string;
  readonly time?: Pick<RunningTime, 'after'>;
}

/** There was no answer in time. */
export class DeadlineError extends Error {
  constructor(ms: number, what: string | undefined) {
    super(`${what === undefined ? '' : `${what}: `}no answer within ${ms} ms`);
    this.name = 'DeadlineError';
  }
}

/**
 * Settles as the promise does, or rejects with a DeadlineError if that takes longer than `ms` milliseconds of running time. The work that the
 * promise stands for goes on, and its late outcome is ignored.
 */
export function withDeadline<T>(promise: Promise<T>, ms: number, { what, time = runningTime }: DeadlineOptions = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const callOff = time.after(ms, () => reject(new DeadlineError(ms, what)));
    promise.then(
      (value) => {
        callOff();
        resolve(value);
      },
      (error: unknown) => {
        callOff();
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as the promise does
        reject(error);
      },
    );
  });
}
