import type { Bound } from '../bound.js';
import type { Arrival } from '../traffic/arrival.js';
import { traffic } from '../traffic/patterns.js';
import { GOSSIP_FAN_OUT } from './gossip.js';
import { runTopology, TOPOLOGIES, type TopologyFigures, type TopologyRun } from './index.js';

const BOUND: Bound = { limit: 100, windowMs: 1000 };
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

const load = (pattern: 'bursty' | 'poisson', ratePerSecond = 150, seconds = 10): Arrival[] => [
  ...traffic(pattern, { seed: 1, seconds, ratePerSecond, keys: KEYS, ...BOUND }),
];

function figures(name: string, arrivals: readonly Arrival[], options: Partial<TopologyRun> = {}): TopologyFigures {
  const topology = TOPOLOGIES.find((one) => one.name === name)!;
  return runTopology(topology, arrivals, { bound: BOUND, seed: 1, nodes: 4, nodesAtFirst: 2, latencyMs: 1, ...options });
}

const at = (atMs: number, count: number, key = 'a'): Arrival[] => Array.from({ length: count }, () => ({ atMs, key, cost: 1 }));

describe.each(TOPOLOGIES.map(({ name }) => name))('%s', (name) => {
  it('has the same figures for the same seed', () => {
    expect(figures(name, load('bursty'))).toEqual(figures(name, load('bursty')));
  });

  it('decides every request, and lets everything pass far below the limit', () => {
    const { offered, admitted, wronglyAdmitted } = figures(name, load('poisson', 20));
    expect({ admitted, wronglyAdmitted }).toEqual({ admitted: offered, wronglyAdmitted: 0 });
  });

  it('on one node that never changes, admits about what one bucket does', () => {
    const { admitted, admittedByOne } = figures(name, load('poisson'), { nodes: 1, nodesAtFirst: 1 });
    const slack = name === 'event_stream' ? 0.2 : 0.02;
    expect(Math.abs(admitted / admittedByOne - 1)).toBeLessThan(slack);
  });
});

describe('a central store', () => {
  it.each(['bursty', 'poisson'] as const)('admits at most capacity + rate * t, and no less: %s', (pattern) => {
    const seen = figures('central_store', load(pattern), { nodes: 100, nodesAtFirst: 50 });
    expect(seen).toMatchObject({ worstExcess: 0, wronglyAdmitted: 0, wronglyRefused: 0 });
    expect(Math.abs(seen.admitted - seen.admittedByOne)).toBeLessThan(10);
  });

  it('costs a question and an answer a request, and all wait for it', () => {
    const { offered, messages, waits } = figures('central_store', load('bursty'));
    expect({ messages, waits }).toEqual({ messages: 2 * offered, waits: offered });
  });
});

describe('sticky sessions', () => {
  it('are exact while no node joins, and cost nothing', () => {
    const seen = figures('sticky_sessions', load('bursty'), { nodesAtFirst: 4 });
    expect(seen).toMatchObject({ worstExcess: 0, wronglyAdmitted: 0, wronglyRefused: 0, messages: 0, waits: 0 });
  });

  it('give a key that moves a second capacity when nodes join', () => {
    const { worstExcess } = figures('sticky_sessions', load('poisson'));
    expect(worstExcess).toBeGreaterThan(90);
    expect(worstExcess).toBeLessThanOrEqual(100);
  });
});

describe('peers that broadcast', () => {
  it('tell each other node once what they have let through', () => {
    // Two requests in one interval at most: one node has news, or two have.
    const { messages } = figures('peer_broadcast', [...at(1, 1), ...at(5000, 0), ...at(5000, 1)], { nodes: 50, nodesAtFirst: 50 });
    expect(messages).toBe(49);
  });

  it('let a burst pass on every node at once', () => {
    const { admitted } = figures('peer_broadcast', [...at(0, 1000)], { nodesAtFirst: 4 });
    expect(admitted).toBe(400);
  });
});

describe('gossip', () => {
  it('costs the fan-out a node and round, whatever is going on', () => {
    const arrivals = [...at(0, 1), ...at(10_000, 1)];
    const { messages } = figures('gossip', arrivals, { nodes: 30, nodesAtFirst: 30 });
    expect(messages).toBe(30 * GOSSIP_FAN_OUT * 100);
  });

  it('reaches everybody: a spent bucket is known on all nodes within a second', () => {
    const patient: Bound = { limit: 100, windowMs: 3_600_000 };
    const { admitted } = figures('gossip', [...at(0, 40), ...at(1000, 800)], { bound: patient, nodes: 20, nodesAtFirst: 20 });
    // 60 were left, on each of 20 nodes that get about 40 requests each: nobody knows of the others' within the instant.
    expect(admitted).toBe(40 + 800);
    const later = figures('gossip', [...at(0, 40), ...at(1000, 800), ...at(2000, 100)], { bound: patient, nodes: 20, nodesAtFirst: 20 });
    expect(later.admitted).toBe(40 + 800);
  });

  it('does not charge who joins for all that ever was', () => {
    for (const nodes of [4, 30]) {
      const { admitted, admittedByOne } = figures('gossip', load('poisson', 80, 60), { nodes, nodesAtFirst: nodes / 2 });
      expect(admitted / admittedByOne).toBeGreaterThan(0.999);
    }
  });
});

describe('leases', () => {
  it('exceed the bound by no more than the tokens that lie in nodes', () => {
    const { worstExcess } = figures('leases', load('poisson'), { nodes: 4, nodesAtFirst: 4 });
    expect(worstExcess).toBeLessThanOrEqual(4 * 5);
  });

  it('ask once for many requests below the limit', () => {
    const { offered, messages } = figures('leases', load('poisson', 80), { nodes: 2, nodesAtFirst: 2 });
    expect(messages / offered).toBeLessThan(1);
  });

  it('strand tokens where nodes are many: they under-admit', () => {
    const { admitted, admittedByOne } = figures('leases', load('poisson'), { nodes: 200, nodesAtFirst: 200 });
    expect(admitted).toBeLessThan(0.9 * admittedByOne);
  });
});

describe('an event stream', () => {
  it('admits all of a burst that is over before anybody hears of it', () => {
    expect(figures('event_stream', at(0, 1000)).admitted).toBe(1000);
  });
});

describe('a deny cache with asynchronous writes', () => {
  it('admits all of a burst that is under way at once, and pays it back', () => {
    const patient: Bound = { limit: 100, windowMs: 100_000 };
    const { admitted } = figures('deny_cache', [...at(0, 300), ...at(150_000, 300)], { bound: patient });
    expect(admitted).toBe(300);
  });

  it('refuses from memory what it knows to be refused', () => {
    const { waits, offered } = figures('deny_cache', load('poisson', 1000));
    expect(waits).toBeLessThan(offered);
  });
});
