import type { RuleSpec } from '#limiter';
import type { Actor } from './change.js';
import { ApprovalWantedError, isProtected, type ProposedChange } from './protected-rule.js';
import { ownerColumns, type RuleOwner } from '../rules/rule-owner.js';
import type { RuleEntity } from '../rules/rule.entity.js';

/** A change of a rule that stands. */
interface RuleChange {
  readonly owner: RuleOwner;
  readonly before: RuleEntity;
  /** Null for a deletion. */
  readonly after: RuleSpec | null;
  readonly action: RuleAction;
}

type RuleAction = 'rule.replaced' | 'rule.reverted' | 'rule.deleted';

/** Called when a write has passed all other checks, within its transaction, which then ends without a trace. @throws ApprovalWantedError */
export function demandApproval(changes: readonly RuleChange[], by: Actor): void {
  if (by.approval !== undefined) return;
  const kept = changes.filter(({ before }) => isProtected(before.labels));
  if (kept.length > 0) throw new ApprovalWantedError(kept.map(proposal));
}

function proposal({ owner, before, after, action }: RuleChange): ProposedChange {
  return { action, ...ownerColumns(owner), ruleId: before.id, version: before.version, before, after };
}
