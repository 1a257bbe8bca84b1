/** Rules with this label wait for a second administrator when they are changed, unless its value is `false`. */
export const PROTECTED_LABEL = 'protected';

/** What a change is about that waits for a second administrator. It is stored until then, so it is JSON. */
export interface ProposedChange {
  /** The action that the audit will have. */
  readonly action: string;
  /** Null: what concerns all merchants, like a default rule. */
  readonly merchantId: string | null;
  /** The plan, if it is a rule of one. */
  readonly plan?: string | null;
  readonly ruleId: string | null;
  /** The version that the change replaces; null where there is none. */
  readonly version: number | null;
  /** What stands. */
  readonly before: object | null;
  /** What is to stand; null for a deletion. */
  readonly after: object | null;
}

/** The change may only be made after a second administrator has approved it. All its other checks have passed, and nothing was changed. */
export class ApprovalWantedError extends Error {
  constructor(readonly changes: readonly ProposedChange[]) {
    super('this changes only after a second administrator has approved it');
    this.name = 'ApprovalWantedError';
  }
}

/** @param labels as they are stored: somebody may have edited the row by hand */
export function isProtected(labels: Readonly<Record<string, unknown>> | null | undefined): boolean {
  return typeof labels === 'object' && labels !== null && Object.hasOwn(labels, PROTECTED_LABEL) && labels[PROTECTED_LABEL] !== 'false';
}

/** What an override does, as far as it decides whether a second administrator is wanted. */
export interface OverrideReach {
  /** Of the rule. */
  readonly labels: Readonly<Record<string, unknown>>;
  /** The largest by which a number grows. */
  readonly factor: number;
  /** Up to this one administrator is enough. */
  readonly allowedFactor: number;
}

/** Called when an override has passed all other checks, within its transaction. @throws ApprovalWantedError if its rule is protected, or it multiplies by more than one administrator may */
export function demandApprovalOfOverride(
  change: ProposedChange,
  { labels, factor, allowedFactor }: OverrideReach,
  by: { readonly approval?: unknown },
): void {
  if (by.approval === undefined && (isProtected(labels) || !(factor <= allowedFactor))) throw new ApprovalWantedError([change]);
}

interface StoredRule {
  readonly id: string;
  readonly merchantId: string | null;
  readonly plan: string | null;
  readonly version: number;
  readonly labels: Readonly<Record<string, unknown>>;
}

/** For rules that would go with their owner. @throws ApprovalWantedError */
export function demandNoneProtected(rules: readonly StoredRule[]): void {
  const kept = rules.filter(({ labels }) => isProtected(labels));
  if (kept.length === 0) return;
  throw new ApprovalWantedError(
    kept.map((before) => {
      const { merchantId, plan, id: ruleId, version } = before;
      return { action: 'rule.deleted', merchantId, plan, ruleId, version, before, after: null };
    }),
  );
}
