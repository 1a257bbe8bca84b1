import type { Verdict } from '#limiter';
import { Counter, type Registry } from 'prom-client';

/** What was decided and why. Counts in plain numbers, and hands them to Prometheus when it asks. */
export class DecisionMetrics {
  private readonly reasons = new Map<string, number>();
  private local = 0;
  private remembered = 0;
  private shadow = 0;
  private overLimit = 0;
  private delayed = 0;
  private spareUsed = 0;
  private blocks = 0;
  private allowed = 0;
  private refused = 0;

  constructor(registry: Registry) {
    const { reasons } = this;
    new Counter({
      name: 'tollgate_decisions_total',
      help: 'Requests by the reason of their decision.',
      labelNames: ['reason'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [reason, count] of reasons) this.inc({ reason }, count);
      },
    });
    counterOf(registry, 'tollgate_local_decisions_total', 'Decisions made in this process while the store was away.', () => this.local);
    counterOf(
      registry,
      'tollgate_remembered_refusals_total',
      'Refusals without asking the store, which has refused the same a moment ago.',
      () => this.remembered,
    );
    counterOf(registry, 'tollgate_shadow_refusals_total', 'Times a shadow rule would have refused.', () => this.shadow);
    counterOf(registry, 'tollgate_over_limit_total', 'Requests that passed above a soft or an elastic limit.', () => this.overLimit);
    counterOf(registry, 'tollgate_delayed_total', 'Requests that waited their turn in a leaky bucket.', () => this.delayed);
    counterOf(registry, 'tollgate_spare_capacity_used_total', 'Requests that passed above an elastic limit.', () => this.spareUsed);
    counterOf(registry, 'tollgate_blocks_total', 'Blocks that began: penalties for keys that were refused too often.', () => this.blocks);
  }

  count(verdict: Verdict): void {
    this.countReason(verdict.reason);
    if (verdict.source === 'local') this.local++;
    else if (verdict.source === 'memory') this.remembered++;
    this.shadow += verdict.shadowRefusals;
    if (verdict.waitMs > 0) this.delayed++;
    if (verdict.usedSpare) this.spareUsed++;
    if (verdict.beganBlock) this.blocks++;
    if (verdict.limits.some(({ decision }) => decision.overLimit)) this.overLimit++;
    if (verdict.allowed) this.allowed++;
    else this.refused++;
  }

  countReason(reason: string): void {
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1);
  }

  /** Passed and refused since the last call. */
  takeSummary(): { allowed: number; refused: number } {
    const { allowed, refused } = this;
    this.allowed = 0;
    this.refused = 0;
    return { allowed, refused };
  }
}

function counterOf(registry: Registry, name: string, help: string, count: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(count());
    },
  });
}
