import { AddressHealth } from './address-health.js';

const PASSIVE = { failures: 3, ejectMs: 1_000, maxEjectMs: 4_000 };

/** An address that has failed so often in a row that it was ejected at 0. */
function ejected(): AddressHealth {
  const health = new AddressHealth(PASSIVE);
  expect([health.failed(0), health.failed(0), health.failed(0)]).toEqual([false, false, true]);
  return health;
}

describe('an address whose requests fail', () => {
  it('is ejected by failures in a row, not by as many with answers between them', () => {
    const health = new AddressHealth(PASSIVE);
    for (let i = 0; i < 10; i++) {
      expect([health.failed(i), health.failed(i)]).toEqual([false, false]);
      health.answered(i);
    }
    expect([health.state, health.mayBeAsked(10), health.ejected]).toEqual(['healthy', true, 0]);
    expect([ejected().state, ejected().mayBeAsked(999), ejected().ejected]).toEqual(['ejected', false, 1]);
  });

  it('gets one request after its ejection, and no other before that one may have ended', () => {
    const health = ejected();
    expect(health.mayBeAsked(1_000)).toBe(true);
    health.asked(1_000);
    expect([health.mayBeAsked(1_000), health.mayBeAsked(1_999), health.mayBeAsked(2_000)]).toEqual([false, false, true]);
  });

  it('is healthy again with the answer to that request', () => {
    const health = ejected();
    health.asked(1_000);
    health.answered(1_000);
    expect([health.state, health.mayBeAsked(1_001)]).toEqual(['healthy', true]);
    expect([health.failed(1_002), health.failed(1_003), health.failed(1_004)]).toEqual([false, false, true]);
    expect([health.mayBeAsked(2_003), health.mayBeAsked(2_004)]).toEqual([false, true]);
  });

  it('stays ejected for twice as long each time that the trial fails, up to a bound', () => {
    const health = ejected();
    let nowMs = 1_000;
    for (const nextMs of [2_000, 4_000, 4_000, 4_000]) {
      health.asked(nowMs);
      expect(health.failed(nowMs)).toBe(true);
      expect([health.mayBeAsked(nowMs + nextMs - 1), health.mayBeAsked(nowMs + nextMs)]).toEqual([false, true]);
      nowMs += nextMs;
    }
    expect(health.ejected).toBe(5);
  });

  it('is not brought back by an answer to what was sent before it was ejected', () => {
    const health = new AddressHealth(PASSIVE);
    for (let i = 0; i < 3; i++) health.failed(500);
    health.answered(499);
    expect(health.state).toBe('ejected');
    health.answered(500);
    expect(health.state).toBe('healthy');
  });

  it('is not ejected for longer by failures of what was sent before', () => {
    const health = ejected();
    for (let i = 0; i < 10; i++) expect(health.failed(100)).toBe(false);
    expect([health.mayBeAsked(999), health.mayBeAsked(1_000)]).toEqual([false, true]);
  });

  it('is never ejected without such a rule', () => {
    const health = new AddressHealth(null);
    for (let i = 0; i < 100; i++) health.failed(i);
    expect([health.state, health.mayBeAsked(100)]).toEqual(['healthy', true]);
  });
});

describe('an address that is checked', () => {
  it('is down after so many failed checks in a row, and up after so many passed ones', () => {
    const health = new AddressHealth(PASSIVE, { failures: 2, passes: 3 });
    const seen = [false, true, false, false, true, true, false, true, true, true, false].map((passed) => {
      const changed = health.checked(passed);
      return `${changed ? '!' : ''}${health.state}`;
    });
    expect(seen).toEqual(['healthy', 'healthy', 'healthy', '!down', 'down', 'down', 'down', 'down', 'down', '!healthy', 'healthy']);
  });

  it('gets no request while it is down, whatever becomes of its requests', () => {
    const health = new AddressHealth(null, { failures: 1, passes: 1 });
    health.checked(false);
    health.answered(5);
    expect(health.mayBeAsked(1e9)).toBe(false);
    health.checked(true);
    expect(health.mayBeAsked(0)).toBe(true);
  });
});
