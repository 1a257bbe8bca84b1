import type { LookupAddress } from 'node:dns';
import { lastKnownLookup } from './last-known-address.js';

const MINUTE_MS = 60_000;
const FIRST: LookupAddress = { address: '192.0.2.1', family: 4 };
const SECOND: LookupAddress = { address: '2001:db8::2', family: 6 };

type Said = { readonly code: string } | readonly LookupAddress[] | 'nothing';

/** A DNS that says what the test wants. */
function bed({ patienceMs = 60_000 } = {}) {
  const state = { says: [FIRST] as Said, asked: 0, nowMs: 0, late: [] as ((addresses: LookupAddress[]) => void)[] };
  const lookup = lastKnownLookup({
    lookup: (_hostname, _options, done) => {
      state.asked++;
      const { says } = state;
      if (says === 'nothing') state.late.push((addresses) => done(null, addresses));
      else if ('code' in says) done(Object.assign(new Error('away'), says), []);
      else done(null, says);
    },
    now: () => state.nowMs,
    patienceMs,
  });
  const find = (all = true, hostname = 'upstream.example') =>
    new Promise<unknown>((resolve) =>
      lookup(hostname, { all }, (error, address, family) => resolve(error ? error.code : all ? address : [address, family])),
    );
  return { state, find };
}

test('what DNS says is the answer, in the form that was asked for', async () => {
  const { state, find } = bed();
  state.says = [SECOND, FIRST];
  expect([await find(), await find(false)]).toEqual([
    [SECOND, FIRST],
    ['2001:db8::2', 6],
  ]);
  state.says = [FIRST];
  expect(await find()).toEqual([FIRST]);
});

test('while DNS is away the last answer holds, for a quarter of an hour and for that name only', async () => {
  const { state, find } = bed();
  await find();
  state.says = { code: 'EAI_AGAIN' };
  state.nowMs = 15 * MINUTE_MS;
  expect([await find(), await find(false), await find(true, 'other.example')]).toEqual([[FIRST], ['192.0.2.1', 4], 'EAI_AGAIN']);
  state.nowMs++;
  expect(await find()).toBe('EAI_AGAIN');
});

test('a name that does not exist any more is not made up', async () => {
  const { state, find } = bed();
  await find();
  state.says = { code: 'ENOTFOUND' };
  expect(await find()).toBe('ENOTFOUND');
});

test('an answer without an address is a fault', async () => {
  const { state, find } = bed();
  state.says = [];
  expect([await find(), await find(false)]).toEqual(['ENODATA', 'ENODATA']);
});

test('a silent DNS is asked once, the last answer holds meanwhile, and what it says late counts for the next', async () => {
  const { state, find } = bed({ patienceMs: 0 });
  await find();
  state.says = 'nothing';
  expect(await Promise.all([find(), find(), find()])).toEqual([[FIRST], [FIRST], [FIRST]]);
  expect(state.asked).toBe(2);
  state.late[0]!([SECOND]);
  state.says = { code: 'EAI_AGAIN' };
  expect(await find()).toEqual([SECOND]);
});

test('without a last answer those who ask wait for DNS together', async () => {
  const { state, find } = bed({ patienceMs: 0 });
  state.says = 'nothing';
  const answers = Promise.all([find(), find(false)]);
  expect(state.asked).toBe(1);
  state.late[0]!([FIRST]);
  expect(await answers).toEqual([[FIRST], ['192.0.2.1', 4]]);
});
