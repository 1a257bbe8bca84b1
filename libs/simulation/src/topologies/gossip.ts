import type { Bound } from '../bound.js';
import type { Random } from '../random.js';
import { DebtBucket } from './debt-bucket.js';
import { Table } from './table.js';
import type { Topology } from './topology.js';

const GOSSIP_EVERY_MS = 100;

/** How many others a node tells in a round, however many there are. */
export const GOSSIP_FAN_OUT = 3;

/** What a node tells of a key: what each node has spent in all, and what is left in the bucket by that. */
interface Told {
  readonly spent: Float64Array;
  readonly level: number;
  /** Whether that holds the history of the key: not for who has just joined. */
  readonly settled: boolean;
}

/** What a node knows of a key. */
class View {
  readonly bucket: DebtBucket;
  private spent: Float64Array;
  private given = false;

  constructor(
    private readonly bound: Bound,
    nodes: number,
    private settled: boolean,
  ) {
    this.bucket = new DebtBucket(bound);
    this.spent = new Float64Array(nodes);
  }

  spend(node: number, cost: number, nowMs: number): void {
    this.note(node, cost);
    this.bucket.spend(cost, nowMs);
  }

  tell(nowMs: number): Told {
    this.given = true;
    return { spent: this.spent, level: this.bucket.level(nowMs), settled: this.settled };
  }

  /** Sums only grow: the larger one is the newer, whichever way and however often it comes. */
  hear({ spent, level, settled }: Told, nowMs: number): void {
    let news = 0;
    for (let node = 0; node < spent.length; node++) {
      const more = spent[node]! - this.spent[node]!;
      if (more <= 0) continue;
      this.note(node, more);
      news += more;
    }
    // For who has just joined, the sums are history that was refilled since: it owes what the teller's bucket lacks.
    if (settled && !this.settled) news = Math.min(news, this.bound.limit - level);
    this.settled ||= settled;
    if (news > 0) this.bucket.spend(news, nowMs);
  }

  private note(node: number, cost: number): void {
    // A message under way keeps what was known when it was sent.
    if (this.given) this.spent = this.spent.slice();
    this.given = false;
    this.spent[node]! += cost;
  }
}

/** Ten times a second, every node tells all that it knows to three others, chosen anew: news spread like a rumour. */
export const gossip: Topology = {
  name: 'gossip',
  title: 'gossip',
  start({ clock, network, random, bound, nodes, activeNodes }) {
    const founders = activeNodes();
    const views = new Table((node: number) => new Table((_key: string) => new View(bound, nodes, node < founders)));

    const tell = (from: number): void => {
      const peers = activeNodes();
      const known = [...views.of(from).entries()].map(([key, view]) => [key, view.tell(clock.nowMs)] as const);
      for (const to of from < peers ? someOthers(from, peers, random) : []) {
        network.send(() => known.forEach(([key, told]) => views.of(to).of(key).hear(told, clock.nowMs)));
      }
      clock.after(GOSSIP_EVERY_MS, () => tell(from));
    };
    for (let node = 0; node < nodes; node++) clock.at(random.next() * GOSSIP_EVERY_MS, () => tell(node));

    return ({ key, cost }, node, decide) => {
      const view = views.of(node).of(key);
      const allowed = view.bucket.holds(cost, clock.nowMs);
      if (allowed) view.spend(node, cost, clock.nowMs);
      decide(allowed);
    };
  },
};

function someOthers(from: number, peers: number, random: Random): Set<number> {
  const others = new Set<number>();
  while (others.size < Math.min(GOSSIP_FAN_OUT, peers - 1)) others.add((from + 1 + random.below(peers - 1)) % peers);
  return others;
}
