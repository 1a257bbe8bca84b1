import { type CallLimit, packArguments, PackedCall } from './packed-command.js';

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test.each<[CallLimit, number]>([
  ['of connection', 1],
  ['of caller', 0],
])('a call within the limit %s has %i timers', (limit, expected) => {
  const before = timers();
  const call = new PackedCall('evalsha', 'a'.repeat(40), packArguments(['k'], ['1']), limit);
  call.setTimeout(60_000);
  expect(timers() - before).toBe(expected);
  call.resolve(null);
  expect(timers() - before).toBe(0);
});
