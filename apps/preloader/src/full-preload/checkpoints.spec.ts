import type { PreloadWalk } from '#rule-sync';
import { Checkpoints } from './checkpoints.js';

const walkAt = (done: number): PreloadWalk => ({ jobId: '1', cursor: `m${done}`, done, skipped: 0, total: 9, startedAtMs: 0, resumes: 0 });

/** Saves that end when the test says so. */
function heldSaves() {
  const saved: number[] = [];
  const held: { done: () => void; fail: (error: Error) => void }[] = [];
  const checkpoints = new Checkpoints(({ done }) => {
    saved.push(done);
    return new Promise((resolve, reject) => held.push({ done: resolve, fail: reject }));
  });
  return { saved, held, checkpoints };
}

test('a walk goes on while it is saved, and is not saved twice at a time', async () => {
  const { saved, held, checkpoints } = heldSaves();
  checkpoints.reached(walkAt(1), 0);
  checkpoints.reached(walkAt(2), 1_000_000);
  expect(saved).toEqual([1]);
  held[0]!.done();
  await checkpoints.settled();
  checkpoints.reached(walkAt(3), performance.now());
  expect(saved).toEqual([1]);
  checkpoints.reached(walkAt(4), performance.now() + 1000);
  expect(saved).toEqual([1, 4]);
});

test('a save that fails ends the walk, at its next chunk or at its end', async () => {
  for (const goOn of [(of: Checkpoints) => of.reached(walkAt(2), 0), (of: Checkpoints) => of.end(walkAt(2))]) {
    const { held, checkpoints } = heldSaves();
    checkpoints.reached(walkAt(1), 0);
    held[0]!.fail(new Error('the job was taken over'));
    await checkpoints.settled();
    await expect((async () => goOn(checkpoints))()).rejects.toThrow('taken over');
  }
});

test('the end of a walk is saved behind what was being saved', async () => {
  const { saved, held, checkpoints } = heldSaves();
  checkpoints.reached(walkAt(1), 0);
  const ended = checkpoints.end(walkAt(2));
  expect(saved).toEqual([1]);
  held[0]!.done();
  await checkpoints.settled();
  expect(saved).toEqual([1, 2]);
  held[1]!.done();
  await ended;
});
