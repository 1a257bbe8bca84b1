import type { Bound } from '../bound.js';
import type { Random } from '../random.js';
import type { Arrival } from '../traffic/arrival.js';
import type { VirtualClock } from '../virtual-clock.js';
import type { Network } from './network.js';

/** What a topology is built on. */
export interface World {
  readonly clock: VirtualClock;
  readonly network: Network;
  readonly random: Random;
  /** The bound of every key, over all nodes together. */
  readonly bound: Bound;
  /** Nodes at the end of the run. */
  readonly nodes: number;
  /** Nodes that take requests now, numbered from 0. */
  readonly activeNodes: () => number;
  /** Requests a second that all keys together are allowed: what capacity planning would reckon with. */
  readonly allowedPerSecond: number;
}

/** Called once for each request, at the instant at which it is let through or refused. */
export type Decide = (allowed: boolean) => void;

/** A running topology: the way that a request takes which the load balancer gave to a node. */
export type Way = (arrival: Arrival, node: number, decide: Decide) => void;

export interface Topology {
  /** As typed on the command line. */
  readonly name: string;
  readonly title: string;
  start(world: World): Way;
}
