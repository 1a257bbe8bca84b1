/**
 * The ids of operations, from which generated clients take the names of their functions: a short sentence each, such as listRules. They are part of
 * the API: whoever renames one breaks the programs of others.
 */

/** Where the method of a controller and what the controller is about make no sentence. */
const SENTENCES: Readonly<Record<string, string>> = {
  'History.audit': 'listChanges',
  'History.ofMerchant': 'listChangesOfMerchant',
  'History.ofPlan': 'listChangesOfPlan',
  'History.ofToken': 'listChangesOfToken',
  'History.ofSwitch': 'listChangesOfSwitch',
  'History.ofRule': 'listChangesOfRule',
  'History.ofPlanRule': 'listChangesOfPlanRule',
  'History.ofDefaultRule': 'listChangesOfDefaultRule',
  'History.revert': 'revertRule',
  'History.revertMerchant': 'revertMerchant',
  'History.revertPlan': 'revertPlan',
  'History.revertOfPlan': 'revertPlanRule',
  'History.revertDefault': 'revertDefaultRule',
  'Explain.explain': 'explainDecision',
  'Preview.preview': 'previewRule',
  'Switches.get': 'getSwitch',
  'Switches.put': 'setSwitch',
  'TopKeys.rank': 'rankKeys',
  'Usage.ofMerchant': 'listUsageOfMerchant',
  'Usage.top': 'rankRules',
  'Webhooks.deliveries': 'listDeliveries',
  'Webhooks.delivery': 'getDelivery',
  'Webhooks.retry': 'retryDelivery',
};

/** @param controller the name of its class @param method the name of its method */
export function operationId(controller: string, method: string): string {
  const about = controller.replace(/Controller$/, '');
  const sentence = SENTENCES[`${about}.${method}`];
  if (sentence !== undefined) return sentence;
  // By its API key a merchant sees what is its own.
  if (about === 'Me') return `showMy${method.charAt(0).toUpperCase()}${method.slice(1)}`;
  return method + (method === 'list' ? about : about.replace(/s$/, ''));
}
