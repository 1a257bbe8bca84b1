import { BucketMap } from '../algorithms/bucket-map.js';
import { tokenBucketSpec } from '../algorithms/specs.js';
import type { Bound } from '../bound.js';
import { seededRandom } from '../random.js';
import type { Arrival } from '../traffic/arrival.js';
import { VirtualClock } from '../virtual-clock.js';
import { DebtBucket } from './debt-bucket.js';
import { Network } from './network.js';
import { Table } from './table.js';
import type { Topology } from './topology.js';

export interface TopologyRun {
  readonly bound: Bound;
  readonly seed: number;
  /** Nodes at the end of the run. */
  readonly nodes: number;
  /** Nodes until the middle of the run, when the others join. */
  readonly nodesAtFirst: number;
  /** One way, on average. */
  readonly latencyMs: number;
}

export interface TopologyFigures {
  readonly topology: string;
  readonly title: string;
  readonly nodes: number;
  readonly offered: number;
  readonly admitted: number;
  /** What one bucket that sees everything at once lets through of the same load. */
  readonly admittedByOne: number;
  /** Tokens: the most by which any key went over capacity + rate * d, in any interval d. */
  readonly worstExcess: number;
  /** Requests that passed when nothing was left. */
  readonly wronglyAdmitted: number;
  /** Requests that were refused though there was enough for them. */
  readonly wronglyRefused: number;
  readonly messages: number;
  /** Requests that waited for an answer over the network. */
  readonly waits: number;
}

/** How long after the last arrival answers may still come, in latencies: who waits for a lease may ask again. */
const LAST_ANSWERS = 1000;

/** Lets the arrivals, in the order of time, go through a topology. */
export function runTopology(topology: Topology, arrivals: readonly Arrival[], run: TopologyRun): TopologyFigures {
  const { bound, seed, nodes, nodesAtFirst, latencyMs } = run;
  const endMs = arrivals.at(-1)?.atMs ?? 0;
  const clock = new VirtualClock();
  const network = new Network(clock, seededRandom(seed, 'network'), latencyMs);
  const balancer = seededRandom(seed, 'balancer');
  const activeNodes = (): number => (clock.nowMs < endMs / 2 ? nodesAtFirst : nodes);
  const keys = new Set(arrivals.map(({ key }) => key)).size;
  const allowedPerSecond = (keys * bound.limit * 1000) / bound.windowMs;
  const way = topology.start({ clock, network, random: seededRandom(seed, 'topology'), bound, nodes, activeNodes, allowedPerSecond });
  const truth = new Truth(bound);

  for (const arrival of arrivals) {
    clock.runUntil(arrival.atMs);
    way(arrival, balancer.below(activeNodes()), (allowed) => truth.count(arrival, allowed, clock.nowMs));
  }
  const { messages, waits } = network;
  const lastMs = clock.nowMs + LAST_ANSWERS * latencyMs;
  while (truth.decided < arrivals.length && clock.nowMs < lastMs) clock.runUntil(clock.nowMs + latencyMs);
  return {
    topology: topology.name,
    title: topology.title,
    nodes,
    offered: arrivals.length,
    admitted: truth.admitted,
    admittedByOne: admittedByOne(bound, arrivals),
    worstExcess: truth.worstExcess,
    wronglyAdmitted: truth.wronglyAdmitted,
    wronglyRefused: truth.wronglyRefused,
    messages,
    waits,
  };
}

/** What really happened to each key, seen by nobody in the model. */
class Truth {
  decided = 0;
  admitted = 0;
  wronglyAdmitted = 0;
  wronglyRefused = 0;
  worstExcess = 0;
  private readonly buckets: Table<string, DebtBucket>;

  constructor(bound: Bound) {
    this.buckets = new Table(() => new DebtBucket(bound));
  }

  count({ key, cost }: Arrival, allowed: boolean, nowMs: number): void {
    const bucket = this.buckets.of(key);
    const held = bucket.holds(cost, nowMs);
    this.decided++;
    if (!allowed) {
      if (held) this.wronglyRefused++;
      return;
    }
    this.admitted++;
    if (!held) this.wronglyAdmitted++;
    bucket.spend(cost, nowMs);
    // The debt of a bucket that pays for everything is the largest excess over capacity + rate * d of all intervals that end now.
    this.worstExcess = Math.max(this.worstExcess, Math.round(-bucket.level(nowMs) * 1000) / 1000);
  }
}

function admittedByOne(bound: Bound, arrivals: readonly Arrival[]): number {
  const one = new BucketMap(tokenBucketSpec(bound));
  return arrivals.reduce((admitted, { key, cost, atMs }) => admitted + (one.take(key, cost, atMs).allowed ? 1 : 0), 0);
}
