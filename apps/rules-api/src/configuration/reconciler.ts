import { handOver } from '#rules-db';
import type { UnreadableRules } from '../rules/unreadable-rules.js';
import type { Configuration } from './configuration.dto.js';
import { MerchantReconciler } from './merchant-reconciler.js';
import { PlanReconciler } from './plan-reconciler.js';
import { GrowingReconciliation, type ReconcileOptions, type Reconciliation, type Repositories } from './reconciliation.js';
import { RuleReconciler } from './rule-reconciler.js';

const NOBODY: ReadonlySet<string> = new Set();

/**
 * Compares a document with what is stored, and makes the changes if it is told who makes them. Document and storage are walked side by side in the
 * order of merchants' ids, page by page, and the changes of a page are made while the next page is compared, so that two pages at most are in memory:
 * plans first, because merchants name them, then merchants by id, then default rules, and of each owner deletions before new rules, because an owner has
 * a maximum number of them. Plans that the document lacks come last, when merchants have left them.
 */
export async function reconcile(
  repositories: Repositories,
  unreadable: UnreadableRules,
  options: ReconcileOptions,
  document: Configuration,
): Promise<Reconciliation> {
  const { merchants, defaultRules } = document;
  const { deleteMerchants, deletePlans, selection } = options;
  const result = new GrowingReconciliation(repositories, unreadable, options, document);
  const ofRules = new RuleReconciler(repositories.rules, unreadable, selection, result);
  const ofPlans = new PlanReconciler(repositories, options, result, ofRules);
  const ofMerchants = new MerchantReconciler(repositories, options, result, ofRules);
  const named = deleteMerchants || deletePlans ? new Set(merchants.names) : NOBODY;
  const otherPlans = await ofPlans.reconcile(document);
  if (deleteMerchants) await ofMerchants.deleteOthers(named);
  await handOver(ofMerchants.comparedPages(merchants), (page) => ofRules.finish(page));
  if (defaultRules) {
    const wanted = { owner: null, pointer: '/defaultRules', wanted: defaultRules };
    await ofRules.finish(await ofRules.looked([ofRules.compared(wanted, await repositories.rules.ofOwners(null))]));
  }
  if (deletePlans) await ofPlans.delete(otherPlans, named);
  return result;
}
