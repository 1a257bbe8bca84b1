/** There was no answer in time. What was asked goes on, and its late outcome is ignored. */
export const NO_ANSWER = Symbol('no answer in time');

/** Rejects as the promise does. Milliseconds. */
export function answeredWithin<T>(ms: number, promise: Promise<T>): Promise<T | typeof NO_ANSWER> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // If this process was held up, the answer may lie unread in the socket: let it be read before judging.
      setImmediate(() => resolve(NO_ANSWER));
    }, ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
