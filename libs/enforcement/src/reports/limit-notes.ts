import { usableOf, type LimitReport, type Verdict } from '#limiter';
import type { LimitEventKind, NewLimitEvent } from '#limiter-redis';

/** Notes between two flushes, of all merchants and of one. About 100 bytes each. */
const MOST_NOTES = 10_000;
const MOST_OF_MERCHANT = 100;

/** What waited longer for Redis is no news any more. */
const OLDEST_MS = 600_000;

/** `limit.80`: a fifth or less remains. */
const NEAR_PARTS = 5;

/** What was seen first of a limit since the last flush. */
export interface LimitNote {
  readonly kind: LimitEventKind;
  readonly merchantId: string;
  readonly ruleId: string;
  readonly limitId: number;
  readonly rule: string;
  readonly limit: string;
  readonly capacity: number;
  readonly remaining: number;
  readonly atMs: number;
  /** Of `key.refused`: which key, hashed where it is personal, and how often at least it was refused. */
  readonly key?: Readonly<Record<string, string>>;
  readonly refused?: number;
}

export interface LimitNotesOptions {
  /** Whether there is a merchant of this id. Asked once for each id between two flushes that is one's. */
  readonly isMerchant: (merchantId: string) => boolean;
  /** Milliseconds that never step back. */
  readonly now: () => number;
  readonly mostNotes?: number;
}

/**
 * Which limits are nearly or wholly used, since it was last taken: one note for a merchant, rule, limit and kind. A decision whose limits are far from
 * that costs a comparison for each of them. Shadow rules are none of a verdict's limits.
 */
export class LimitNotes {
  /** Notes that there was no room for, and that had waited too long, ever. */
  readonly dropped = { too_many: 0, too_old: 0 };
  private merchants = new Map<string, LimitNote[]>();
  private count = 0;
  private readonly mostNotes: number;

  constructor(private readonly options: LimitNotesOptions) {
    this.mostNotes = options.mostNotes ?? MOST_NOTES;
  }

  note(merchantId: string, { limits, source }: Verdict): void {
    for (let i = 0; i < limits.length; i++) {
      const { decision } = limits[i]!;
      if (!decision.allowed || decision.remaining * NEAR_PARTS <= usableOf(decision)) this.noteLimit(merchantId, limits[i]!, source);
    }
  }

  /** What was noted since the last time, with its age. */
  take(): LimitNote[] {
    if (this.count === 0) return [];
    const taken = [...this.merchants.values()].flat();
    this.merchants = new Map();
    this.count = 0;
    return taken;
  }

  /** For the next time, what could not be told; what was noted again meanwhile is told as it was first. */
  putBack(notes: readonly LimitNote[]): void {
    const oldestMs = this.options.now() - OLDEST_MS;
    for (const note of notes) {
      if (note.atMs < oldestMs) this.dropped.too_old++;
      else this.add(note);
    }
  }

  private noteLimit(merchantId: string, report: LimitReport, source: Verdict['source']): void {
    const { decision } = report;
    // While the store is away nobody knows what is left of the limit; and an operator's block is no use of it.
    if (source === 'local' || decision.blocked) return;
    if (!decision.allowed) this.noteKind(merchantId, report, 'limit.100');
    if (decision.limit > 0 && decision.remaining * NEAR_PARTS <= usableOf(decision)) this.noteKind(merchantId, report, 'limit.80');
  }

  private noteKind(merchantId: string, { ruleId, rule, limit, decision }: LimitReport, kind: LimitEventKind): void {
    const notes = this.merchants.get(merchantId);
    if (notes !== undefined && has(notes, kind, ruleId, limit.id)) return;
    if (notes === undefined && !this.options.isMerchant(merchantId)) return;
    const names = { rule: rule.name, limit: limit.name };
    const level = { capacity: usableOf(decision), remaining: decision.remaining };
    this.add({ kind, merchantId, ruleId, limitId: limit.id, ...names, ...level, atMs: this.options.now() });
  }

  /** Beside what verdicts say. Of one kind and limit the first is told. */
  add(note: LimitNote): void {
    const notes = this.merchants.get(note.merchantId) ?? [];
    if (has(notes, note.kind, note.ruleId, note.limitId)) return;
    if (this.count >= this.mostNotes || notes.length >= MOST_OF_MERCHANT) {
      this.dropped.too_many++;
      return;
    }
    this.count++;
    notes.push(note);
    this.merchants.set(note.merchantId, notes);
  }
}

export function limitEventOf({ atMs, ...note }: LimitNote, nowMs: number): NewLimitEvent {
  return { ...note, ageMs: Math.max(0, nowMs - atMs) };
}

function has(notes: readonly LimitNote[], kind: LimitEventKind, ruleId: string, limitId: number): boolean {
  for (let i = 0; i < notes.length; i++) {
    const note = notes[i]!;
    if (note.limitId === limitId && note.kind === kind && note.ruleId === ruleId) return true;
  }
  return false;
}
