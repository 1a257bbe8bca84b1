import type { EntityManager } from 'typeorm';
import { type AuditAction, AuditEntity } from './audit.entity.js';
import { recordEvents } from './webhook-events.js';
import { OutboxEntity } from './outbox.entity.js';
import { insertRows } from './row-sets.js';
import { Spool } from './spool.js';

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

/** Inserts the audit row and the outbox row of a change, in the transaction of the change. */
export async function recordChange(manager: EntityManager, change: Change): Promise<void> {
  await recordChanges(manager, [change]);
}

/** The same for many changes of one transaction. The outbox gets one row for each owner, with the last version; receivers are told as well. */
export async function recordChanges(manager: EntityManager, changes: readonly Change[]): Promise<void> {
  const spool = new Spool<Change>();
  for (const change of changes) spool.push(change);
  await recordSpooled(manager, spool);
}

/** The same for so many changes that they are not in memory together. */
export async function recordSpooled(manager: EntityManager, changes: Spool<Change>): Promise<void> {
  // Before the first audit row, with which other writers begin to wait.
  for (const some of byOwner(changes)) await recordEvents(manager, some);
  const news = new Map<string, Pick<OutboxEntity, 'merchantId' | 'plan' | 'version'>>();
  for (const some of changes.batches()) {
    await insertRows<AuditEntity>(manager, AuditEntity, some.map(auditRow));
    for (const { merchantId, plan = null, version } of some)
      if (version !== undefined) news.set(ownerKey({ merchantId, plan }), { merchantId, plan, version });
  }
  await insertRows<OutboxEntity>(manager, OutboxEntity, [...news.values()]);
}

/** Batches that do not part what stands together of one owner, so that receivers are told of it once. */
function* byOwner(changes: Spool<Change>): Generator<readonly Change[]> {
  let held: readonly Change[] = [];
  for (const batch of changes.batches()) {
    const all = [...held, ...batch];
    const last = ownerKey(all.at(-1)!);
    const end = all.findLastIndex((change) => ownerKey(change) !== last) + 1;
    if (end > 0) yield all.slice(0, end);
    held = all.slice(end);
  }
  if (held.length > 0) yield held;
}

function ownerKey({ merchantId, plan = null }: Pick<Change, 'merchantId' | 'plan'>): string {
  return JSON.stringify([merchantId, plan]);
}

function auditRow({ merchantId, ruleId, action, before, after, by }: Change) {
  const { name: actor, requestId = null, reason = null, approval } = by;
  const row = { actor, requestId, reason, action, merchantId, ruleId: ruleId ?? null, before, after };
  if (approval === undefined) return row;
  // Inside of what the chain covers. A deletion has no state after it.
  return after === null ? { ...row, before: { ...before, approval } } : { ...row, after: { ...after, approval } };
}
