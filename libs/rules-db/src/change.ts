import { type EntityManager } from 'typeorm';
import { type AuditAction, AuditEntity } from './audit.entity.js';
import { OutboxEntity } from './outbox.entity.js';

/** Who makes a change, for the audit. */
export interface Actor {
  readonly name: string;
  readonly requestId?: string;
  /** Why the change is made. */
  readonly reason?: string;
}

/** A change of a merchant or a rule, for the audit and the outbox. */
export interface Change {
  /** Null: a default rule. */
  readonly merchantId: string | null;
  readonly ruleId?: string;
  readonly action: AuditAction;
  readonly before: object | null;
  readonly after: object | null;
  /** The version of the snapshot that the change led to; without one there is nothing that gateways have to know. */
  readonly version?: number;
  readonly by: Actor;
}

/** The versions that a write may replace: one of these, or any. */
export type Expected = readonly number[] | 'any';

/** Whether a write that expects these versions may replace `version`. */
export function isExpected(expected: Expected, version: number): boolean {
  return expected === 'any' || expected.includes(version);
}

/** Inserts the audit row and the outbox row of a change, in the transaction of the change. */
export async function recordChange(manager: EntityManager, change: Change): Promise<void> {
  const { merchantId, ruleId = null, action, before, after, version, by } = change;
  await manager.insert(AuditEntity, {
    actor: by.name,
    requestId: by.requestId ?? null,
    reason: by.reason ?? null,
    action,
    merchantId,
    ruleId,
    before,
    after,
  });
  if (version !== undefined) await manager.insert(OutboxEntity, { merchantId, version });
}
