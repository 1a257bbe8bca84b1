import type { CommandEntries } from './shared/command-entry.js';

/** Every command of `tollgate`. A new one is a file and a line here. */
export const COMMANDS: CommandEntries = {
  login: { summary: 'keep the address of a Rules API and a token for it', load: () => import('./login.js') },
  get: { summary: 'list merchants, rules, default rules or tokens', load: () => import('./get.js') },
  export: { summary: 'write merchants and rules as a file', load: () => import('./export.js') },
  apply: { summary: 'make merchants and rules what a file says', load: () => import('./apply.js') },
  diff: { summary: 'say how a file differs from what is stored', load: () => import('./diff.js') },
  import: { summary: 'make rules of a configuration of envoyproxy/ratelimit', load: () => import('./import/import.js') },
  history: { summary: 'list the changes of a merchant or a rule', load: () => import('./history.js') },
  revert: { summary: 'go back to a former version of a rule', load: () => import('./revert.js') },
  audit: { summary: 'list the audit, or check that nobody has altered it', load: () => import('./audit/audit.js') },
  explain: { summary: 'say why a request would pass or be refused', load: () => import('./explain.js') },
  preview: { summary: 'say what a draft of a rule would change', load: () => import('./preview.js') },
  override: { summary: 'change the numbers of a rule for a time', load: () => import('./override/override.js') },
  buckets: { summary: 'show live buckets, fill, correct, block or unblock them', load: () => import('./buckets/buckets.js') },
  usage: { summary: 'show how many requests passed and were refused', load: () => import('./usage.js') },
  tail: { summary: 'show refusals as they happen', load: () => import('./tail.js') },
  completion: {
    summary: 'print a script by which a shell completes command lines',
    load: async () => (await import('./completion/completion.js')).completionOf(COMMANDS),
  },
  load: { summary: 'send load to the gateway, and say whether every limit was kept', load: () => import('./load/load.js') },
  simulate: { summary: 'replay traffic through algorithms or topologies in virtual time', load: () => import('./simulate/simulate.js') },
  capacity: { summary: 'say how many gateways, Redis shards and bytes a load needs', load: () => import('./capacity/capacity.js') },
  preload: { summary: 'carry all merchants from PostgreSQL to Redis now', load: () => import('./preload.js') },
  faults: { summary: 'break what a gateway stands on, and show what merchants see', load: () => import('./faults.js') },
};
