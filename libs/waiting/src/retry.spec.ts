import { retryUntilDone } from './retry.js';

const away = new Error('away');

/** Fails so many times, then succeeds. */
function failing(times: number) {
  let attempts = 0;
  return { attempt: () => (++attempts > times ? Promise.resolve(attempts) : Promise.reject(away)) };
}

test('attempts go on until one succeeds, and each failure is told', async () => {
  const failures: unknown[] = [];
  await expect(retryUntilDone(failing(3).attempt, { waitMs: 1, onFailure: (error) => failures.push(error) })).resolves.toBe(4);
  expect(failures).toEqual([away, away, away]);
});

test('a failure that another attempt cannot mend ends them', async () => {
  await expect(retryUntilDone(failing(3).attempt, { waitMs: 1, isTemporary: () => false })).rejects.toBe(away);
});

test('an abort ends the wait for the next attempt', async () => {
  const ending = new AbortController();
  const done = retryUntilDone(failing(Infinity).attempt, { waitMs: 3_600_000, signal: ending.signal, onFailure: () => ending.abort() });
  await expect(done).rejects.toThrow(/abort/);
});

test('nothing is attempted once the signal has aborted', async () => {
  let attempts = 0;
  const attempt = () => Promise.resolve(attempts++);
  await expect(retryUntilDone(attempt, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/);
  expect(attempts).toBe(0);
});
