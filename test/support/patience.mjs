/**
 * How much slower this machine is at the moment than one for which the deadlines of the tests were written, 1 or more.
 * A deadline in a test says when to give up, not how fast something has to be; on a slow machine it waits longer.
 */
export const SLOWNESS = Number((process.env['TOLLGATE_TEST_SLOWNESS'] ??= String(measured())));

/** What a deadline is multiplied by. */
export const PATIENCE = 2 * SLOWNESS;

/** Ten million additions take 12 ms on an ordinary core. The best of three: what else runs at the moment shall not count. */
function measured() {
  const times = [1, 2, 3].map(() => {
    const start = performance.now();
    let sum = 0;
    for (let i = 0; i < 1e7; i++) sum += i;
    return sum > 0 ? performance.now() - start : 0;
  });
  return Math.min(40, Math.max(1, Math.round(Math.min(...times) / 12)));
}
