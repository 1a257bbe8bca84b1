import { Inject, Injectable } from '@nestjs/common';
import { type DayOfUse, isTelling, type PastVersion, type RuleSpec, type RuleWarning, unusedBursts } from '#limiter';
import { AuditRepository, OverrideRepository, type RuleOwner } from '#rules-db';
import { LiveReports } from '../buckets/live-reports.js';

/** A rule that was edited more often within a day is left alone. */
const MOST_VERSIONS = 20;

/** How a rule was used within the last day, as far as that is certain. */
export interface KnownUse {
  /** What is probably a mistake in view of it. */
  warningsOf(rule: Pick<RuleSpec, 'limits'>): RuleWarning[];
}

/** What of the use of a rule is certain. It is asked before the rule is locked, and whoever has no answer goes without. */
@Injectable()
export class KnownUses {
  constructor(
    @Inject(LiveReports) private readonly reports: LiveReports,
    @Inject(AuditRepository) private readonly audit: AuditRepository,
    @Inject(OverrideRepository) private readonly overrides: OverrideRepository,
  ) {}

  /** Nothing is known of rules that several merchants have: each has counts of its own. */
  async of(owner: RuleOwner, ruleId: string): Promise<KnownUse | undefined> {
    if (typeof owner !== 'string') return undefined;
    const counted = await this.reports.lastDayOf({ merchantId: owner, ruleId });
    if (counted === undefined) return undefined;
    const day: DayOfUse = { ...counted, minutes: counted.steps };
    // Most rules are out already: PostgreSQL is asked about few of them.
    if (!isTelling(day)) return undefined;
    const since = new Date(day.fromMs);
    const [versions, wasOverridden] = await Promise.all([
      this.versionsSince(owner, ruleId, day.fromMs),
      this.overrides.wasActiveSince(owner, ruleId, since),
    ]);
    if (wasOverridden || versions === undefined) return undefined;
    return { warningsOf: (rule) => unusedBursts(rule, day, versions) };
  }

  /** The versions that were in force, the oldest first. Undefined where somebody has changed a bucket by hand meanwhile. */
  private async versionsSince(merchantId: string, ruleId: string, fromMs: number): Promise<PastVersion[] | undefined> {
    const rows = await this.audit.list({ merchantId, ruleId }, { limit: MOST_VERSIONS });
    const versions: PastVersion[] = [];
    for (const { at, action, after } of rows) {
      const atMs = at.getTime();
      if (action.startsWith('rule.')) versions.unshift({ fromMs: atMs, rule: after });
      else if (action.startsWith('bucket.') && atMs >= fromMs) return undefined;
      if (atMs < fromMs && action.startsWith('rule.')) break;
    }
    return versions;
  }
}
