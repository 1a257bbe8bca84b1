import { burst, LeasingWorld, type LeasedAnswer, type Passage } from '../../testing/index.js';
import type { Consistency } from '../rules/consistency.js';
import { decide, type Bucket, type BucketLevel } from '../buckets/bucket.js';
import type { LimitSpec } from '../limits/limit.js';
import { KeptTake } from '../buckets/take.js';

const BURST = burst({ capacity: 1000, refillTokens: 1000 });

function worldOf(gateways = 1, consistency: Consistency = 'leased', specs: readonly LimitSpec[] = [BURST], maxBytes?: number) {
  const world = new LeasingWorld(specs, gateways, consistency, maxBytes);
  /** Sends so many requests of a gateway, evenly in so many milliseconds. */
  const send = (gateway: number, requests: number, overMs = 0, cost = 1): LeasedAnswer[] => {
    const answers: LeasedAnswer[] = [];
    for (let i = 0; i < requests; i++) {
      world.gateways[gateway]!.ask(cost, (answer) => answers.push(answer));
      if (overMs > 0) world.advance(overMs / requests);
    }
    return answers;
  };
  const left = (gateway = 0): Promise<number> =>
    new Promise((resolve) =>
      world.store.take({ takes: [world.gateways[gateway]!.takes(0)[0]!], holder: 0, spare: false }, (levels) =>
        resolve(remaining(world.gateways[gateway]!.takes(0)[0]!.bucket, (levels as readonly BucketLevel[])[0]!)),
      ),
    );
  return { world, send, left, store: world.gateways[0]!.store };
}

const remaining = (bucket: Bucket, level: BucketLevel): number => decide(bucket, level, 0, false).remaining;
const passed = (answers: readonly LeasedAnswer[]): number => answers.filter(({ allowed }) => allowed).length;
const by = (answers: readonly LeasedAnswer[], source: string): number => answers.filter((answer) => answer.source === source).length;

describe('a hot bucket', () => {
  test('is spent here, and the store is asked for a hundredth of the requests', () => {
    const { world, send } = worldOf();
    send(0, 500, 1000);
    const before = world.takes + world.lends;
    const answers = send(0, 5000, 10_000);
    expect(passed(answers)).toBe(5000);
    expect(world.takes + world.lends - before).toBeLessThan(50);
  });

  test('that cools down goes back within little more than a horizon, and the store has everything again', async () => {
    const { world, send, store, left } = worldOf();
    send(0, 200, 400);
    expect(store.held).toBeGreaterThan(50);
    world.advance(1200);
    expect(store.held).toBe(0);
    expect(store.counts.lapsed).toBe(0);
    expect(store.counts.givenBack).toBe(store.counts.lent - store.counts.spent);
    expect(await left()).toBe(1000);
  });

  test('of which several gateways spend is lent to the half, and nobody is refused while the store has tokens', () => {
    const { world, send } = worldOf(4);
    for (let i = 0; i < 200; i++) for (let at = 0; at < 4; at++) expect(passed(send(at, 1, 1))).toBe(1);
    const held = world.gateways.reduce((sum, { store }) => sum + store.held, 0);
    expect(held).toBeGreaterThan(0);
    expect(held).toBeLessThanOrEqual(500);
  });

  test('that is empty is asked of the store, which alone refuses, and what it costs that others hold some is counted', () => {
    const { send, world } = worldOf(2, 'leased', [burst({ capacity: 100, refillTokens: 1 })]);
    send(0, 40, 20);
    const refused = send(1, 200, 20).filter(({ allowed }) => !allowed);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every(({ source }) => source === 'store')).toBe(true);
    expect(world.gateways[0]!.store.held).toBeGreaterThan(0);
    expect(world.gateways[1]!.store.counts.refusedWhileLent).toBeGreaterThan(0);
  });
});

test('a request that was refused because the store lends the last tokens to this gateway meanwhile passes when they are there', () => {
  const { world, send } = worldOf(1, 'leased', [burst({ capacity: 40, refillTokens: 1, refillIntervalMs: 3_600_000 })]);
  world.passages = [{ thereMs: 1, backMs: 1, loses: 'nothing' }];
  const answers = send(0, 60, 120);
  world.advance(50);
  expect(passed(answers)).toBe(40);
  expect(answers.slice(0, 40).every(({ allowed }) => allowed)).toBe(true);
});

test('a lease that was empty when its answer came goes back all the same', () => {
  const { world, send, store } = worldOf();
  world.passages = [{ thereMs: 15, backMs: 9, loses: 'nothing' }];
  send(0, 400, 600);
  world.advance(1500);
  expect([store.held, store.counts.lapsed]).toEqual([0, 0]);
  expect(store.counts.givenBack).toBe(store.counts.lent - store.counts.spent);
});

test('a bucket from which little is spent is not leased', () => {
  const { world, send, store } = worldOf();
  expect(by(send(0, 20, 10_000), 'store')).toBe(20);
  expect([world.lends, store.counts.lent]).toEqual([0, 0]);
});

test('what is known of buckets is bounded in bytes, and what an evicted lease holds goes back', () => {
  const { world, send, store } = worldOf(1, 'leased', [BURST], 100_000);
  send(0, 100, 100);
  const { held } = store;
  expect(held).toBeGreaterThan(0);
  const [take] = world.gateways[0]!.takes(1);
  // Of many merchants, and each often enough for a lease.
  for (let i = 0; i < 1600; i++)
    for (let times = 0; times < 6; times++) store.take({ takes: [{ ...take!, key: `{${i}}other` }], holder: 0, spare: false }, () => {});
  expect(store.bytes).toBeLessThanOrEqual(100_000);
  const { counts } = store;
  expect(counts.givenBack).toBeGreaterThan(held);
  expect(counts.lent).toBe(counts.spent + counts.givenBack + store.held);
});

test('a flood of names of which each comes a few times takes no memory, and pushes out no lease', () => {
  const { world, send, store } = worldOf(1, 'leased', [BURST], 20_000);
  send(0, 100, 100);
  const { bytes, held } = store;
  const [take] = world.gateways[0]!.takes(1);
  for (let i = 0; i < 180; i++) store.take({ takes: [{ ...take!, key: `{${i % 60}}other` }], holder: 0, spare: false }, () => {});
  expect([store.bytes, store.held, store.counts.givenBack]).toEqual([bytes, held, 0]);
});

test('one merchant with many keys gets leases for an eighth of the memory, and pushes out nobody', () => {
  const { world, send, store } = worldOf(1, 'leased', [BURST], 100_000);
  send(0, 100, 100);
  const [take] = world.gateways[0]!.takes(1);
  const before = store.bytes;
  for (let i = 0; i < 1600; i++)
    for (let times = 0; times < 6; times++) store.take({ takes: [{ ...take!, key: `{hostile}${i}` }], holder: 0, spare: false }, () => {});
  expect(store.bytes - before).toBeGreaterThan(11_000);
  expect(store.bytes - before).toBeLessThanOrEqual(12_500);
  expect(store.counts.givenBack).toBe(0);
});

test('what is said to be left is never more than there is, also when requests were paid by the store while an answer about the lease was awaited', () => {
  const [capacity, requests] = [400, 200];
  const { world, store } = worldOf(1, 'leased', [burst({ capacity, refillTokens: 1, refillIntervalMs: 3_600_000 })]);
  world.passages = [{ thereMs: 1, backMs: 1, loses: 'nothing' }];
  const [take] = world.gateways[0]!.takes(1);
  const left: number[] = [];
  const sources: string[] = [];
  for (let i = 0; i < requests; i++) {
    store.take({ takes: [take!], holder: 0, spare: false }, (levels, _atUs, source = 'store') => {
      left.push(decide(take!.bucket, (levels as readonly BucketLevel[])[0]!, 1, true).remaining);
      sources.push(source);
    });
    while (left.length <= i) world.advance(1);
  }
  expect(left.filter((each, i) => each > capacity - 1 - i)).toEqual([]);
  // The store was asked in between.
  expect(sources.lastIndexOf('store')).toBeGreaterThan(sources.indexOf('lease'));
});

test('a lease that many requests spend from is found by their take, until it is given up or the limit is edited', () => {
  const { world, store } = worldOf(1, 'leased', [BURST], 100_000);
  const ask = (take: KeptTake): string => {
    let by = '';
    store.take({ takes: [take], holder: 0, spare: false }, (_outcome, _atUs, source = 'store') => (by = source));
    return by;
  };
  const kept = () => {
    const { key, bucket } = world.gateways[0]!.takes(1)[0]!;
    return new KeptTake(key, bucket, 1);
  };
  const before = kept();
  const asked = Array.from({ length: 10 }, () => ask(before));
  expect([asked.at(0), asked.at(-1), before.local]).toEqual(['store', 'lease', expect.objectContaining({ key: before.key })]);
  world.edit([{ ...BURST, capacity: 2000 }]);
  world.gateways[0]!.hear();
  const after = kept();
  const askedAfter = Array.from({ length: 10 }, () => ask(after));
  expect([before.local, after.local, askedAfter.at(-1)]).toEqual([undefined, expect.objectContaining({ bucket: after.bucket }), 'lease']);
  const lease = after.local;
  for (let i = 0; i < 1600; i++)
    for (let times = 0; times < 6; times++)
      store.take({ takes: [{ ...after, local: undefined, key: `{${i}}other` }], holder: 0, spare: false }, () => {});
  expect([after.local, lease]).toEqual([undefined, expect.objectContaining({ dropped: true, keptBy: undefined })]);
});

test('a request that needs more than is held here is paid by the store alone', () => {
  const { send } = worldOf();
  send(0, 50, 100);
  expect(send(0, 1, 0, 400)).toEqual([expect.objectContaining({ allowed: true, source: 'store' })]);
});

describe('a request of several buckets', () => {
  const small = burst({ name: 'small', capacity: 60, refillTokens: 1 });

  test('spends from all or from none', async () => {
    const { world, send, store } = worldOf(1, 'leased', [BURST, small]);
    send(0, 60, 100);
    const heldBefore = store.held;
    const refused = send(0, 20);
    expect(passed(refused)).toBeLessThan(20);
    const [first] = world.gateways[0]!.takes(0);
    await new Promise<void>((resolve) =>
      world.store.take({ takes: [first!], holder: 0, spare: false }, (levels) => {
        const all = remaining(first!.bucket, (levels as readonly BucketLevel[])[0]!) + store.held;
        expect(all).toBeGreaterThanOrEqual(1000 - 61);
        resolve();
      }),
    );
    expect(heldBefore).toBeGreaterThan(0);
  });
});

describe('a request that is given back', () => {
  test('is put back into the lease that it was spent from, without a call', () => {
    const { world, send, store } = worldOf();
    send(0, 50, 100);
    const [answer] = send(0, 1);
    const [held, calls] = [store.held, world.takes + world.lends];
    answer!.refund();
    expect([store.held, world.takes + world.lends, world.refunds]).toEqual([held + 1, calls, 0]);
  });

  test('goes back to the store once the lease has been reported', () => {
    const { world, send, store } = worldOf();
    send(0, 50, 100);
    const [answer] = send(0, 1);
    send(0, 300, 600);
    const { held } = store;
    answer!.refund();
    expect([store.held, world.refunds]).toEqual([held, 1]);
  });
});

describe('while the store is away', () => {
  test('a gateway spends what it holds until its horizon ends, and nothing else', () => {
    const { world, send, store } = worldOf();
    send(0, 200, 400);
    world.passages = [{ thereMs: 0, backMs: 0, loses: 'call' }];
    const { held } = store;
    const answers = send(0, held + 50);
    world.advance(50);
    expect(
      by(
        answers.filter(({ allowed }) => allowed),
        'lease',
      ),
    ).toBe(held);
    expect(answers.filter(({ failed }) => failed)).toHaveLength(50);
    const later = worldOf();
    later.send(0, 200, 400);
    later.world.passages = world.passages;
    later.world.advance(1000);
    expect([passed(later.send(0, 10)), later.store.held]).toEqual([0, 0]);
  });

  test('a machine that was suspended spends nothing of a lease that ended meanwhile, whichever of its clocks went on', () => {
    for (const suspended of [true, false]) {
      const { world, send, store } = worldOf();
      send(0, 200, 400);
      expect(store.held).toBeGreaterThan(0);
      const [gateway] = world.gateways;
      if (suspended) gateway!.suspendedMs += 5000;
      else gateway!.wallAheadMs -= 5000;
      world.clock.nowMs += 5000;
      expect(by(send(0, 1), 'store')).toBe(1);
    }
  });
});

test('what an operator blocks is not spent from leases once the store has said so', async () => {
  const { world, send, store } = worldOf();
  send(0, 200, 400);
  expect(store.held).toBeGreaterThan(0);
  const [take] = world.gateways[0]!.takes(0);
  await world.store.operate(take!.key, take!.bucket, { kind: 'block', forMs: 60_000 });
  send(0, 600, 600);
  expect(passed(send(0, 10))).toBe(0);
});

test('an edit ends what was lent before it, and requests that know it are decided by the new numbers', () => {
  const { world, send, store } = worldOf();
  send(0, 200, 400);
  expect(store.held).toBeGreaterThan(0);
  world.edit([{ ...BURST, capacity: 10, refillTokens: 1, refillIntervalMs: 60_000 }]);
  world.gateways[0]!.hear();
  expect(passed(send(0, 1000))).toBeLessThanOrEqual(10);
  expect(store.counts.lapsed).toBeGreaterThan(0);
});

test('a process that ends gives everything back, and asks the store from then on', async () => {
  const { send, store, left } = worldOf();
  send(0, 100, 100);
  const { held } = store;
  expect(held).toBeGreaterThan(0);
  await store.close();
  expect([store.held, store.counts.givenBack]).toEqual([0, held]);
  expect(await left()).toBeGreaterThan(890);
  expect(by(send(0, 10, 10), 'store')).toBe(10);
  await store.close();
});

describe('a process that ends with more leases than calls may be under way', () => {
  const leasing = async (passage: Passage) => {
    const { world, send, store } = worldOf();
    send(0, 1);
    const [take] = world.gateways[0]!.takes(1);
    for (let i = 0; i < 2500; i++)
      for (let times = 0; times < 5; times++) store.take({ takes: [{ ...take!, key: `{${i}}k` }], holder: 0, spare: false }, () => {});
    const { held } = store;
    world.passages = [passage];
    const before = world.lends;
    const closed = store.close();
    const atOnce = world.lends - before;
    world.advance(200);
    await closed;
    return { held, atOnce, calls: world.lends - before, store };
  };

  test('gives all of them back, some at a time', async () => {
    const { held, atOnce, calls, store } = await leasing({ thereMs: 1, backMs: 1, loses: 'nothing' });
    expect([atOnce, calls]).toEqual([1000, 2500]);
    expect([store.held, store.counts.givenBack]).toEqual([0, held]);
  });

  test('waits for one answer that does not come, and for no more', async () => {
    const { calls, store } = await leasing({ thereMs: 1, backMs: 1, loses: 'call' });
    expect([calls, store.held]).toEqual([1000, 0]);
  });
});

describe('an optimistic bucket', () => {
  test('is decided about without the store, which is told afterwards', async () => {
    const { world, send, store, left } = worldOf(1, 'optimistic');
    expect(by(send(0, 500), 'optimistic')).toBe(500);
    expect([world.takes, store.owed]).toEqual([0, 500]);
    world.advance(20);
    expect([world.lends, store.owed]).toEqual([1, 0]);
    expect(await left()).toBe(500);
  });

  test('refuses by what it knows, and passes again when tokens have refilled', () => {
    const { world, send } = worldOf(1, 'optimistic');
    expect(passed(send(0, 1500))).toBe(1000);
    expect(world.takes).toBe(0);
    // The bucket refills from when the store was told.
    world.advance(120);
    expect(passed(send(0, 1500))).toBe(100);
  });

  test('four gateways pass no more than the limit and what each passes in one flush interval', () => {
    const { world, send } = worldOf(4, 'optimistic', [burst({ capacity: 50, refillTokens: 100 })]);
    let all = 0;
    const seconds = 20;
    for (let ms = 0; ms < seconds * 1000; ms += 10) {
      for (let at = 0; at < 4; at++) all += passed(send(at, 3));
      world.advance(10);
    }
    const bound = 50 + 100 * seconds;
    const flush = 4 * (50 + 100 * 0.02);
    expect(all).toBeLessThanOrEqual(bound + flush);
    expect(all).toBeGreaterThan(0.95 * bound);
    expect(world.gateways.reduce((sum, { store }) => sum + store.counts.overdrawn, 0)).toBeGreaterThan(0);
    expect(world.takes).toBe(0);
  });

  test('what was not told because no answer came is told again, and until an answer comes the store is asked', () => {
    const { world, send, store } = worldOf(1, 'optimistic');
    world.passages = [{ thereMs: 0, backMs: 0, loses: 'call' }];
    send(0, 100);
    world.advance(60);
    expect(store.owed).toBe(100);
    const failing = send(0, 1);
    world.advance(30);
    expect(failing).toEqual([expect.objectContaining({ failed: true })]);
    world.passages = [{ thereMs: 0, backMs: 0, loses: 'nothing' }];
    world.advance(300);
    expect(store.owed).toBe(0);
    expect(by(send(0, 1), 'optimistic')).toBe(1);
  });

  test('a request that is given back before the store was told costs nothing', () => {
    const { world, send, store } = worldOf(1, 'optimistic');
    const [answer] = send(0, 1);
    answer!.refund();
    expect(store.owed).toBe(0);
    const [told] = send(0, 1);
    world.advance(20);
    told!.refund();
    expect(world.refunds).toBe(1);
  });

  test('owes what it has spent through an edit', () => {
    const { world, send, store } = worldOf(1, 'optimistic');
    send(0, 100);
    world.edit([{ ...BURST, capacity: 150 }]);
    world.gateways[0]!.hear();
    expect(passed(send(0, 100))).toBe(50);
    world.advance(20);
    expect(store.owed).toBe(0);
  });

  describe('of which one request has passed since the store was told', () => {
    const keptWorld = (capacity = 1000) => {
      const specs = [burst({ capacity, refillTokens: 1, refillIntervalMs: 3_600_000 })];
      const { world, send, store, left } = worldOf(1, 'optimistic', specs);
      const { key, bucket } = world.gateways[0]!.takes(1)[0]!;
      const take = new KeptTake(key, bucket, 1);
      const ask = (times = 1): number => {
        let passes = 0;
        for (let i = 0; i < times; i++) {
          store.take({ takes: [take], holder: 0, spare: false }, (levels) => {
            if (decide(bucket, (levels as readonly BucketLevel[])[0]!, 1, true).allowed) passes++;
          });
        }
        return passes;
      };
      return { world, send, store, left, ask, specs };
    };

    test('is taken from as that request would have, which costs the store less than a report', async () => {
      const { world, store, ask, left } = keptWorld(5);
      for (let i = 0; i < 3; i++) {
        ask();
        world.advance(20);
      }
      expect([world.takes, world.lends, store.owed, store.counts.reports]).toEqual([3, 0, 0, 3]);
      expect(await left()).toBe(2);
      // What the store has said is known: two are left.
      expect(ask(4)).toBe(2);
    });

    test('owes what others had taken meanwhile, and passes nothing more', () => {
      const { world, store, ask } = keptWorld(2);
      expect(ask()).toBe(1);
      world.store.take({ takes: [{ ...world.gateways[0]!.takes(2)[0]! }], holder: 0, spare: false }, () => {});
      world.advance(20);
      expect([world.takes, world.lends, store.owed, store.counts.overdrawn]).toEqual([1, 1, 1, 1]);
      expect(ask(5)).toBe(0);
    });

    test('is told of again if no answer comes', () => {
      const { world, store, ask } = keptWorld();
      world.passages = [{ thereMs: 0, backMs: 0, loses: 'call' }];
      ask();
      world.advance(60);
      expect(store.owed).toBe(1);
      world.passages = [{ thereMs: 0, backMs: 0, loses: 'nothing' }];
      world.advance(300);
      expect([store.owed, world.lends]).toEqual([0, 0]);
    });

    test('is decided about by the numbers of an edit that overtakes the answer', () => {
      const { world, send, ask, specs } = keptWorld(10);
      world.passages = [{ thereMs: 1, backMs: 20, loses: 'nothing' }];
      ask();
      world.advance(22);
      world.edit([{ name: specs[0]!.name, algorithm: 'fixed_window', limit: 5, windowMs: 3_600_000, start: 'clock' } as LimitSpec]);
      world.gateways[0]!.hear();
      send(0, 1);
      world.advance(20);
      expect(passed(send(0, 20))).toBe(4);
    });

    test('is told of before the process ends', async () => {
      const { world, store, ask, left } = keptWorld();
      world.passages = [{ thereMs: 1, backMs: 1, loses: 'nothing' }];
      ask();
      const closed = store.close();
      world.advance(5);
      await closed;
      expect(store.owed).toBe(0);
      expect(await left()).toBe(999);
    });
  });
});
