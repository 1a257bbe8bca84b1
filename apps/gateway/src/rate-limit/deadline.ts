/** Rejects if the promise takes longer. What it stands for goes on, and its late outcome is ignored. */
export function withDeadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // If this process was held up, the answer may lie unread in the socket: let it be read before judging.
      setImmediate(() => reject(new Error(`no answer within ${ms} ms`)));
    }, ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
