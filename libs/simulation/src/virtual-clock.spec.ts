import { seededRandom } from './random.js';
import { VirtualClock } from './virtual-clock.js';

describe('a virtual clock', () => {
  it('lets things happen in the order of their times, and of planning where times are equal', () => {
    const clock = new VirtualClock();
    const random = seededRandom(1);
    const planned = Array.from({ length: 500 }, (_, order) => ({ atMs: random.below(50), order }));
    const happened: typeof planned = [];
    for (const event of planned) clock.at(event.atMs, () => void happened.push(event));
    clock.runUntil(100);
    expect(happened).toEqual([...planned].sort((a, b) => a.atMs - b.atMs || a.order - b.order));
  });

  it('stops where it is told, and lets what comes of an event happen too', () => {
    const clock = new VirtualClock();
    const seen: number[] = [];
    const tick = (): void => {
      seen.push(clock.nowMs);
      clock.after(10, tick);
    };
    tick();
    clock.runUntil(25);
    expect([seen, clock.nowMs]).toEqual([[0, 10, 20], 25]);
    clock.runUntil(30);
    expect(seen).toEqual([0, 10, 20, 30]);
  });

  it('has no way back: what is planned for the past happens now', () => {
    const clock = new VirtualClock();
    clock.runUntil(100);
    let atMs = 0;
    clock.at(50, () => (atMs = clock.nowMs));
    clock.runUntil(100);
    expect(atMs).toBe(100);
  });
});
