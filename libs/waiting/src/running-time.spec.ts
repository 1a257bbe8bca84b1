import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { FakeHeart } from '../testing/fake-heart.js';
import { RunningTime } from './running-time.js';
import { DeadlineError, withDeadline } from './with-deadline.js';

function setUp() {
  const heart = new FakeHeart();
  const time = new RunningTime(heart);
  const pass = (...beats: number[]): void => beats.forEach((ms) => heart.pass(ms));
  return { heart, time, pass };
}

/** Which beat ends a wait, if the beats come after so many milliseconds. */
test.each([
  { ms: 25, beats: [5, 5, 5, 5, 5, 5], ends: 5, why: 'an idle process' },
  { ms: 25, beats: [6, 6, 6, 6, 6], ends: 5, why: 'a timer that is a millisecond late is still in time' },
  { ms: 25, beats: [1000, 5, 5, 5, 5, 5], ends: 5, why: 'held up for a second: the sockets are read as often as in an idle process' },
  { ms: 25, beats: [40, 40, 40, 40, 40, 40], ends: 5, why: 'busy all the time: 30 ms in which it could read, however long they take' },
  { ms: 37, beats: [40, 40, 40, 40, 40, 40, 40], ends: 7, why: 'a beat counts as 6 ms at most' },
  { ms: 5, beats: [60_000, 5], ends: 2, why: 'a laptop that slept does not end a wait by that alone' },
  { ms: 0, beats: [5], ends: 1, why: 'no deadline: the next beat' },
])('$ms ms are over at beat $ends of $beats: $why', ({ ms, beats, ends }) => {
  const { time, pass } = setUp();
  let beat = 0;
  let ended: number | undefined;
  time.after(ms, () => (ended = beat));
  for (const gap of beats) {
    beat++;
    pass(gap);
  }
  expect(ended).toBe(ends);
});

describe('on a machine where this process had to wait for a core', () => {
  /** How many beats of 5 ms a deadline of 25 ms takes after a beat that came so late. */
  function beatsOf25(lateBeatMs: number, usedMs: number, heart = new FakeHeart()): number {
    const time = new RunningTime(heart);
    let over = false;
    time.after(10_000, () => {});
    heart.pass(lateBeatMs, usedMs);
    time.after(25, () => (over = true));
    for (let beats = 0; ; beats++) {
      if (over) return beats;
      heart.pass(5);
    }
  }

  test.each([
    { late: 5, used: 0, beats: 5, why: 'it did not wait' },
    { late: 7, used: 0, beats: 5, why: 'timers of an idle machine are no better' },
    { late: 40, used: 33, beats: 5, why: 'it computed: whoever is to answer had a core of its own' },
    { late: 9, used: 0, beats: 6, why: '2 ms of waiting would extend it by 8, and a tenth of the deadline is the most' },
    { late: 19, used: 10, beats: 6, why: 'likewise if it computed as well' },
    { late: 17, used: 0, beats: 6, why: '10 ms would extend it by 40, and a tenth of the deadline is the most' },
    { late: 60_000, used: 0, beats: 6, why: 'a tenth of the deadline is the most' },
  ])('$late ms for a beat, $used of them computing: 25 ms take $beats beats, because $why', ({ late, used, beats }) => {
    expect(beatsOf25(late, used)).toBe(beats);
  });

  test('half of it is forgotten in half a second, also while nobody waits', () => {
    const { heart, time } = setUp();
    time.after(0, () => {});
    heart.pass(11, 0);
    heart.pass(500);
    const since = time.nowMs;
    let beats = 0;
    while (!time.passed(since, 25)) {
      time.after(0, () => beats++);
      heart.pass(5);
    }
    // A tenth of the deadline, because it had to wait for 4 ms lately.
    expect(beats).toBe(6);
  });

  test('what it computed while nobody waited says nothing about a late beat', () => {
    const { heart } = setUp();
    heart.pass(60_000, 60_000);
    expect(beatsOf25(9, 0, heart)).toBe(6);
  });
});

test('a wait that begins while the clock runs gets its whole time', () => {
  const { time, pass } = setUp();
  const over: string[] = [];
  time.after(10, () => over.push('first'));
  pass(5);
  time.after(10, () => over.push('second'));
  pass(5);
  expect(over).toEqual(['first']);
  pass(5);
  expect(over).toEqual(['first', 'second']);
});

test('what begins between two beats is not late because the beat before was earlier', () => {
  const { heart, time, pass } = setUp();
  time.after(1000, () => {});
  pass(5);
  heart.elapse(4);
  const since = time.nowMs;
  expect(since).toBe(9);
  pass(1, 5);
  expect(time.passed(since, 10)).toBe(false);
  pass(5);
  expect(time.passed(since, 10)).toBe(true);
});

test('the clock beats only while somebody waits, and time that passed meanwhile does not count', () => {
  const { heart, time, pass } = setUp();
  expect(heart.beating).toBe(false);
  time.after(1, () => {});
  expect(heart.beating).toBe(true);
  pass(5, 5);
  expect(heart.beating).toBe(false);
  const before = time.nowMs;
  pass(3600_000);
  time.after(0, () => {});
  pass(5);
  expect(time.nowMs - before).toBe(5);
});

test('a wait that begins soon after the last beat keeps its rhythm, gets its whole time, and asks the system nothing', () => {
  const { heart, time, pass } = setUp();
  time.after(1000, () => {})();
  pass(5);
  pass(2);
  expect(heart.beating).toBe(false);
  const asked = heart.asked;
  let over = false;
  time.after(10, () => (over = true));
  expect(heart.wantedInMs).toBe(3);
  expect(heart.asked).toBe(asked);
  pass(3, 5);
  expect(over).toBe(false);
  pass(5);
  expect(over).toBe(true);
});

test('a wait that is cancelled does not end, even if another one of the same beat cancels it', () => {
  const { heart, time, pass } = setUp();
  const called: string[] = [];
  time.after(0, () => {
    called.push('first');
    callOff();
  });
  const callOff = time.after(0, () => called.push('second'));
  pass(5);
  expect(called).toEqual(['first']);
  expect(heart.beating).toBe(false);
});

test('a wait that is begun by the end of another one ends with a later beat', () => {
  const { time, pass } = setUp();
  let beats = 0;
  const again = (): void => void time.after(0, () => (beats++, again()));
  again();
  pass(5, 5, 5);
  expect(beats).toBe(3);
});

describe('a deadline', () => {
  test('rejects what takes longer, and beats no longer', async () => {
    const { heart, time, pass } = setUp();
    const waiting = expect(withDeadline(new Promise(() => {}), 10, { time, what: 'PING' })).rejects.toThrow(new DeadlineError(10, 'PING'));
    pass(5, 5, 5);
    await waiting;
    expect(heart.beating).toBe(false);
  });

  test('passes on what comes in time, and is called off', async () => {
    const { heart, time, pass } = setUp();
    await expect(withDeadline(Promise.resolve('here'), 10, { time })).resolves.toBe('here');
    await expect(withDeadline(Promise.reject(new Error('broken')), 10, { time })).rejects.toThrow('broken');
    pass(5);
    expect(heart.beating).toBe(false);
  });
});

test('an answer that lies unread in a socket is read before a beat is counted', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const here = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const there = await new Promise<Socket>((resolve) => server.once('connection', resolve));
  const order: string[] = [];
  const answer = new Promise<void>((resolve) => here.once('data', () => resolve(void order.push('answer'))));
  const beat = new Promise<void>((resolve) => void new RunningTime().after(0, () => resolve(void order.push('beat'))));
  there.write('x');
  // The process is held up: the timer is due, and the answer lies in the socket.
  for (const end = performance.now() + 20; performance.now() < end;);
  await Promise.all([answer, beat]);
  expect(order).toEqual(['answer', 'beat']);
  here.destroy();
  there.destroy();
  server.close();
});
