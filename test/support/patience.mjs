/**
 * How much slower this machine is than one for which the deadlines of the tests were written, 1 or more.
 * A deadline in a test says when to give up, not how fast something has to be; on a slow machine it waits longer.
 */
export const SLOWNESS = Number((process.env['TOLLGATE_TEST_SLOWNESS'] ??= String(slowness())));

/** What a deadline is multiplied by. */
export const PATIENCE = 2 * SLOWNESS;

/** How long something took when the run began, as a multiple of the time on a core that it needed; 1: it never waited for one. */
const CROWDING = Number((process.env['TOLLGATE_TEST_CROWDING'] ??= String(crowding())));

/** Whether the machine is busy elsewhere. A test that judges milliseconds says so in its title, and is skipped then. */
export const BUSY = CROWDING > 1.25;

/** Ten million additions take 12 ms on an ordinary core. The best of three: what else runs at the moment shall not count. */
function slowness() {
  const times = [1, 2, 3].map(() => {
    const start = performance.now();
    let sum = 0;
    for (let i = 0; i < 1e7; i++) sum += i;
    return sum > 0 ? performance.now() - start : 0;
  });
  return Math.min(40, Math.max(1, Math.round(Math.min(...times) / 12)));
}

/** The time that passes while a tenth of a second is computed, in tenths of a second. */
function crowding() {
  const startMs = performance.now();
  const start = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(start);
    if (user + system >= 100_000) return Math.max(1, (performance.now() - startMs) / 100);
  }
}
