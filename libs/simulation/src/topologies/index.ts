import { centralStore } from './central-store.js';
import { denyCache } from './deny-cache.js';
import { eventStream } from './event-stream.js';
import { gossip } from './gossip.js';
import { leases } from './leases.js';
import { peerBroadcast } from './peer-broadcast.js';
import { stickySessions } from './sticky-sessions.js';
import type { Topology } from './topology.js';

export const TOPOLOGIES: readonly Topology[] = [centralStore, leases, denyCache, stickySessions, peerBroadcast, gossip, eventStream];
export type { Topology } from './topology.js';
export * from './charts.js';
export * from './growth.js';
export * from './run-topology.js';
