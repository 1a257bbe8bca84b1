import type { EntityManager } from 'typeorm';
import { type AuditAction, AuditEntity } from './audit.entity.js';
import { recordEvents } from './webhook-events.js';
import { OutboxEntity } from './outbox.entity.js';
import { chunksOf, insertRows } from './row-sets.js';

/** Who makes a change, for the audit. */
export interface Actor {
  readonly name: string;
  readonly requestId?: string;
  /** Why the change is made. */
  readonly reason?: string;
  /** The second administrator, if the change waited for one. */
  readonly approval?: { readonly id: string; readonly by: string };
}

/** A change of a merchant or a rule, for the audit and the outbox. */
export interface Change {
  /** Null: a default rule, or what `plan` says. */
  readonly merchantId: string | null;
  /** The plan that changed, or a rule of it. For the audit it stands in `before` and `after`. */
  readonly plan?: string | null;
  readonly ruleId?: string;
  readonly action: AuditAction;
  readonly before: object | null;
  readonly after: object | null;
  /** The version of the snapshot that the change led to; without one there is nothing that gateways have to know. */
  readonly version?: number;
  readonly by: Actor;
}

/** The versions that a write may replace: one of these, or any. */
export type ExpectedVersions = readonly number[] | 'any';

/** Whether a write that expects these versions may replace `version`. */
export function isExpected(expected: ExpectedVersions, version: number): boolean {
  return expected === 'any' || expected.includes(version);
}

/** Audit rows that are in memory at once besides the changes themselves. */
const MADE_AT_ONCE = 2_000;

/** Inserts the audit row and the outbox row of a change, in the transaction of the change. */
export async function recordChange(manager: EntityManager, change: Change): Promise<void> {
  await recordChanges(manager, [change]);
}

/** The same for many changes of one transaction. The outbox gets one row for each owner, with the last version; receivers are told as well. */
export async function recordChanges(manager: EntityManager, changes: readonly Change[]): Promise<void> {
  await recordEvents(manager, changes);
  for (const some of chunksOf(changes, MADE_AT_ONCE)) await insertRows<AuditEntity>(manager, AuditEntity, some.map(auditRow));
  const news = new Map<string, Pick<OutboxEntity, 'merchantId' | 'plan' | 'version'>>();
  for (const { merchantId, plan = null, version } of changes)
    if (version !== undefined) news.set(JSON.stringify([merchantId, plan]), { merchantId, plan, version });
  await insertRows<OutboxEntity>(manager, OutboxEntity, [...news.values()]);
}

function auditRow({ merchantId, ruleId, action, before, after, by }: Change) {
  const { name: actor, requestId = null, reason = null, approval } = by;
  const row = { actor, requestId, reason, action, merchantId, ruleId: ruleId ?? null, before, after };
  if (approval === undefined) return row;
  // Inside of what the chain covers. A deletion has no state after it.
  return after === null ? { ...row, before: { ...before, approval } } : { ...row, after: { ...after, approval } };
}
