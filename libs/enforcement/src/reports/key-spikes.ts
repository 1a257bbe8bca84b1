import type { Descriptor, LimitReport, Verdict } from '#limiter';
import type { LimitNote } from './limit-notes.js';
import { hashedKeyOf } from './personal-hash.js';
import { hasKeyOfItsOwn, heldKeyText } from './rule-keys.js';
import { SpaceSaving } from './space-saving.js';

/** So many refusals of one key within a window are a spike. */
export const SPIKE_REFUSALS = 100;
export const SPIKE_WINDOW_MS = 60_000;

/** Keys of a merchant that are told apart in a window, and merchants. About 500 bytes a key. */
const KEYS_OF_MERCHANT = 32;
const MOST_MERCHANTS = 500;

/** To name a key costs microseconds, so in a flood only some refusals are looked at, each for many. */
const LOOKED_AT_A_SECOND = 200;
const ONE_IN = 64;

export interface KeySpikesOptions {
  /** Whether there is a merchant of this id. */
  readonly isMerchant: (merchantId: string) => boolean;
  /** With which personal parts of keys are hashed. */
  readonly secret: string;
  /** Milliseconds that never step back. */
  readonly now: () => number;
  /** From 0 to below 1. */
  readonly random?: () => number;
}

type SpikeNote = Omit<LimitNote, 'atMs'>;

/**
 * Which keys of rules, like one account or one address, are refused again and again: somebody tries passwords, or a client has gone wild. A refusal beyond the first few hundred of a second
 * costs a random number, and one that is allowed nothing.
 */
export class KeySpikes {
  private merchants = new Map<string, SpaceSaving<SpikeNote>>();
  private told = new Set<string>();
  private windowMs = -Infinity;
  private secondMs = -Infinity;
  private looked = 0;

  constructor(private readonly options: KeySpikesOptions) {}

  /** @param verdict that is a refusal */
  refused(descriptor: Descriptor, verdict: Verdict): void {
    const report = verdict.limits.find(isTold);
    if (report === undefined || verdict.source === 'local' || !hasKeyOfItsOwn(report)) return;
    const weight = this.weight();
    if (weight === 0) return;
    const sketch = this.sketchOf(descriptor.merchantId);
    if (sketch === undefined) return;
    const { rule, ruleId, limit } = report;
    const key = heldKeyText(rule, descriptor, this.options.secret);
    sketch.add(`${ruleId}.${limit.id}${key}`, weight, () => noteOf(descriptor, report, this.options.secret));
  }

  /** Spikes that were not told before in this window. */
  take(): LimitNote[] {
    const nowMs = this.options.now();
    const spikes: LimitNote[] = [];
    for (const [merchantId, sketch] of this.merchants) {
      for (const { key, what, atLeast } of sketch.top()) {
        const name = JSON.stringify([merchantId, key]);
        if (atLeast < SPIKE_REFUSALS || this.told.has(name)) continue;
        this.told.add(name);
        spikes.push({ ...what, refused: atLeast, atMs: nowMs });
      }
    }
    if (nowMs - this.windowMs >= SPIKE_WINDOW_MS) {
      this.merchants = new Map();
      this.told = new Set();
      this.windowMs = nowMs;
    }
    return spikes;
  }

  /** For how many refusals this one stands; 0: it is not looked at. */
  private weight(): number {
    const nowMs = this.options.now();
    if (nowMs - this.secondMs >= 1_000) {
      this.secondMs = nowMs;
      this.looked = 0;
    }
    if (this.looked < LOOKED_AT_A_SECOND) {
      this.looked++;
      return 1;
    }
    return (this.options.random ?? Math.random)() * ONE_IN < 1 ? ONE_IN : 0;
  }

  private sketchOf(merchantId: string): SpaceSaving<SpikeNote> | undefined {
    const known = this.merchants.get(merchantId);
    if (known !== undefined || this.merchants.size >= MOST_MERCHANTS || !this.options.isMerchant(merchantId)) return known;
    const sketch = new SpaceSaving<SpikeNote>(KEYS_OF_MERCHANT);
    this.merchants.set(merchantId, sketch);
    return sketch;
  }
}

/** An operator's block is known to the operator. */
function isTold({ decision }: LimitReport): boolean {
  return !decision.allowed && !decision.blocked;
}

function noteOf(descriptor: Descriptor, { rule, ruleId, limit, decision }: LimitReport, secret: string): SpikeNote {
  const names = { rule: rule.name, limit: limit.name, key: hashedKeyOf(rule, descriptor, secret) };
  const { limit: capacity, remaining } = decision;
  return { kind: 'key.refused', merchantId: descriptor.merchantId, ruleId, limitId: limit.id, ...names, capacity, remaining, refused: 0 };
}
