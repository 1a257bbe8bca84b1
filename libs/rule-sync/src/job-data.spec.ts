import { mutated } from '#limiter/testing';
import * as fc from 'fast-check';
import { readPreloadJob, readReloadJob, readWalk, UnreadableJobError } from './job-data.js';
import { reloadKey } from './queues.js';

const RELOAD = { merchantId: 'acme', version: 4, changedAtMs: 1_795_000_000_000 };
const WALK = { jobId: '7', cursor: 'm-00010', done: 11, setAside: 1, total: 50, startedAtMs: 1_795_000_000_000, resumes: 0 };
const PRELOAD = { requestedBy: 'schedule', walk: WALK };

describe('a job as we write it', () => {
  test('is read as it was', () => {
    expect(readReloadJob(RELOAD)).toEqual(RELOAD);
    expect(readReloadJob({ merchantId: null, version: 0, changedAtMs: null })).toEqual({ merchantId: null, version: 0, changedAtMs: null });
    expect(readPreloadJob(PRELOAD)).toEqual(PRELOAD);
    expect(readPreloadJob({ requestedBy: 'boot' })).toEqual({ requestedBy: 'boot' });
  });

  test('may have fields that are not known', () => {
    expect(readReloadJob({ ...RELOAD, format: 1, later: {} })).toEqual(RELOAD);
  });
});

describe('a job that names nobody, or is of a later format, is not read, and says why', () => {
  test.each<[unknown, RegExp]>([
    [undefined, /carry an object, got undefined/],
    [null, /carry an object, got null/],
    ['acme', /carry an object, got "acme"/],
    [[RELOAD], /carry an object, got a list/],
    [{}, /merchantId.*got undefined/],
    [{ ...RELOAD, merchantId: 7 }, /merchantId.*got 7/],
    [{ ...RELOAD, merchantId: '' }, /merchantId/],
    [{ ...RELOAD, merchantId: 'x'.repeat(100_000) }, /^.{1,150}$/],
    [{ ...RELOAD, merchantId: { id: 'acme' } }, /got an object/],
    [{ ...RELOAD, format: 2 }, /format 2, and this preloader reads format 1: a newer one/],
  ])('%j', (data, why) => expect(() => readReloadJob(data)).toThrow(why));

  test('a full preload that nobody asked for', () =>
    expect(() => readPreloadJob({ walk: WALK })).toThrow(/requestedBy must be one of schedule, boot, command, got undefined/));
});

test('hints that are none do not keep a change from being carried', () => {
  for (const odd of [-1, 0.5, '4', NaN, 2 ** 60, null, {}]) {
    expect(readReloadJob({ ...RELOAD, version: odd, changedAtMs: odd })).toEqual({ merchantId: 'acme', version: 0, changedAtMs: null });
  }
});

test.each<[string, object]>([
  ['of no job', { jobId: 7 }],
  ['at no merchant', { cursor: 7 }],
  ['at a merchant that PostgreSQL cannot be asked for', { cursor: 'a\0' }],
  ['that counts backwards', { done: -1 }],
  ['that has done half a merchant', { done: 0.5 }],
  ['of unknown length', { total: '50' }],
])('a checkpoint %s is none, and the run begins anew', (_what, change) => {
  expect(readWalk({ ...WALK, ...change })).toBeUndefined();
  expect(readPreloadJob({ requestedBy: 'boot', walk: { ...WALK, ...change } })).toEqual({ requestedBy: 'boot' });
});

test('whatever stands in a job, it is read or refused with a short reason, and what is read can be worked with', () => {
  // As JSON brings it.
  const odd = fc.oneof(mutated(RELOAD), mutated(PRELOAD), fc.anything()).map((data): unknown => JSON.parse(JSON.stringify(data) ?? 'null'));
  let read = 0;
  fc.assert(
    fc.property(odd, (data) => {
      for (const reader of [readReloadJob, readPreloadJob]) {
        try {
          const job = reader(data);
          read++;
          if ('merchantId' in job) expect(reloadKey(job.merchantId)).toMatch(/^[A-Za-z0-9_-]+$/);
          else if (job.walk) expect(JSON.parse(JSON.stringify(job.walk))).toEqual(job.walk);
        } catch (error) {
          if (!(error instanceof UnreadableJobError)) throw error;
          expect(error.message.length).toBeLessThan(300);
        }
      }
    }),
    { numRuns: 2_000 },
  );
  expect(read).toBeGreaterThan(50);
});
