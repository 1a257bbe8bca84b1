import { mutated } from '#limiter/testing';
import * as fc from 'fast-check';
import { readPreloadJob, readReloadJob, readWalk, UnreadableJobError } from './job-data.js';
import { reloadKey } from './queues.js';

const RELOAD = { merchantId: 'acme', version: 4, changedAtMs: 1_795_000_000_000 };
const PLAN_JOB = { format: 2, merchantId: null, plan: 'pro', version: 4, changedAtMs: null };
const WALK = { jobId: '7', cursor: 'm-00010', done: 11, skipped: 1, total: 50, startedAtMs: 1_795_000_000_000, resumes: 0 };
const PRELOAD = { requestedBy: 'schedule', walk: WALK };

describe('the data of a job', () => {
  test('is parsed as it was written', () => {
    expect(readReloadJob(RELOAD)).toEqual(RELOAD);
    expect(readReloadJob({ merchantId: null, version: 0, changedAtMs: null })).toEqual({ merchantId: null, version: 0, changedAtMs: null });
    expect(readReloadJob(PLAN_JOB)).toEqual({ merchantId: null, plan: 'pro', version: 4, changedAtMs: null });
    expect(readPreloadJob(PRELOAD)).toEqual(PRELOAD);
    expect(readPreloadJob({ requestedBy: 'boot' })).toEqual({ requestedBy: 'boot' });
  });

  test('may have unknown fields', () => {
    expect(readReloadJob({ ...RELOAD, format: 1, later: {} })).toEqual(RELOAD);
  });
});

describe('a job without a merchant, or of a later format, is refused with the reason', () => {
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
    [{ ...RELOAD, format: 3 }, /format 3, and this preloader reads format 2: a newer one/],
    [{ ...RELOAD, format: 0 }, /format 0/],
    [{ ...RELOAD, format: 2 }, /plan must be the name of a plan, and merchantId null/],
    [{ ...PLAN_JOB, merchantId: 'acme' }, /plan must be/],
    [{ ...PLAN_JOB, plan: 'No Name' }, /plan must be.*got "No Name"/],
  ])('%j', (data, why) => expect(() => readReloadJob(data)).toThrow(why));

  test('a full preload without a known requester is refused', () =>
    expect(() => readPreloadJob({ walk: WALK })).toThrow(/requestedBy must be one of schedule, boot, command, got undefined/));
});

test('an invalid version or time is left out, and the job is accepted', () => {
  for (const odd of [-1, 0.5, '4', NaN, 2 ** 60, null, {}]) {
    expect(readReloadJob({ ...RELOAD, version: odd, changedAtMs: odd })).toEqual({ merchantId: 'acme', version: 0, changedAtMs: null });
  }
});

test.each<[string, object]>([
  ['without a job id', { jobId: 7 }],
  ['whose cursor is no text', { cursor: 7 }],
  ['whose cursor PostgreSQL cannot compare', { cursor: 'a\0' }],
  ['with a negative count', { done: -1 }],
  ['with a fraction of a merchant', { done: 0.5 }],
  ['whose total is a text', { total: '50' }],
])('a checkpoint %s is ignored, and the run begins anew', (_what, change) => {
  expect(readWalk({ ...WALK, ...change })).toBeUndefined();
  expect(readPreloadJob({ requestedBy: 'boot', walk: { ...WALK, ...change } })).toEqual({ requestedBy: 'boot' });
});

test('a checkpoint of a preloader that still called skipped merchants setAside is resumed', () => {
  const { skipped: setAside, ...others } = WALK;
  expect(readWalk({ ...others, setAside })).toEqual(WALK);
});

test('any data of a job is either refused with a short reason or parsed into a usable job', () => {
  // Only what survives JSON can stand in a job.
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
