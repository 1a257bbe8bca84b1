import {
  type Actor,
  type RuleEntity,
  type MerchantRepository,
  type PlanRepository,
  type RuleRepository,
  isProtected,
  Spool,
} from '#rules-db';
import type { UnreadableRules } from '../rules/unreadable-rules.js';
import type { AppliedChange, Configuration } from './configuration.dto.js';
import { DocumentWarnings } from './document-warnings.js';
import type { Selection } from './selection.js';

/** What reads and writes; in apply all of it in one transaction. */
export interface Repositories {
  readonly merchants: MerchantRepository;
  readonly plans: PlanRepository;
  readonly rules: RuleRepository;
}

export interface ReconcileOptions {
  readonly deleteMerchants: boolean;
  readonly deletePlans: boolean;
  /** What the document manages; undefined: everything that it names. */
  readonly selection: Selection | undefined;
  /** Whether warnings are errors. */
  readonly strict: boolean;
  /** Who makes the changes. Without one nothing is changed. */
  readonly by: Actor | undefined;
}

/** What an apply has changed, or would change. */
export interface Reconciliation {
  /** Plans, merchants by id, each before its rules, default rules, and deleted plans last. */
  readonly changes: Spool<AppliedChange>;
  /** How much of what the document manages would be deleted. */
  readonly deletions: Readonly<Record<'plans' | 'merchants' | 'rules', { readonly deleted: number; readonly of: number }>>;
  /** A plan that would be deleted, and a merchant that would still have it. */
  readonly planInUse: { readonly plan: string; readonly merchantId: string } | undefined;
  /** The names of the protected rules that the document would change or delete. */
  readonly protectedRules: readonly string[];
  /** About the rules that are created or changed. */
  readonly warnings: Pick<DocumentWarnings, 'first' | 'more'>;
}

/** The same as it grows. */
export class GrowingReconciliation implements Reconciliation {
  readonly changes = new Spool<AppliedChange>();
  readonly deletions = { plans: { deleted: 0, of: 0 }, merchants: { deleted: 0, of: 0 }, rules: { deleted: 0, of: 0 } };
  readonly protectedRules: string[] = [];
  readonly warnings: DocumentWarnings;
  planInUse: Reconciliation['planInUse'];

  constructor(
    { rules }: Repositories,
    unreadable: UnreadableRules,
    private readonly options: ReconcileOptions,
    document: Configuration,
  ) {
    this.warnings = new DocumentWarnings({ rules, unreadable, selection: options.selection, document, nowMs: Date.now() });
  }

  /** Who makes changes, as long as nothing was found for which all of them are refused. */
  get by(): Actor | undefined {
    const { by, strict } = this.options;
    return this.protectedRules.length > 0 || (strict && this.warnings.first.length > 0) ? undefined : by;
  }

  /** The document is refused as a whole then; what is left of it is compared, so that the answer names all of them. */
  noteProtected(rules: readonly Pick<RuleEntity, 'name' | 'labels'>[]): void {
    for (const { name, labels } of rules) if (isProtected(labels)) this.protectedRules.push(name);
  }
}
