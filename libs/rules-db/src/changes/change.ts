import type { AuditAction } from './audit.entity.js';

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
