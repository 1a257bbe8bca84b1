import { Background, pause } from './background.js';

test('work is started once, and a stop waits for its end', async () => {
  let starts = 0;
  let ended = false;
  const background = new Background(async (signal) => {
    starts++;
    while (!signal.aborted) await pause(3_600_000, signal);
    ended = true;
  });
  background.start();
  background.start();
  await background.stop();
  expect({ starts, ended }).toEqual({ starts: 1, ended: true });
});

test('what was never started has nothing to stop', async () => {
  await expect(new Background(() => Promise.reject(new Error('never'))).stop()).resolves.toBeUndefined();
});

test('a pause ends at once where its signal has aborted before', async () => {
  await expect(pause(3_600_000, AbortSignal.abort())).resolves.toBeUndefined();
});
