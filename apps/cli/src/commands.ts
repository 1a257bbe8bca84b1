import type { CommandUnknownOpts } from '@commander-js/extra-typings';

export interface CommandEntry {
  readonly summary: string;
  /** Loaded when it is called, so that a command does not pay for the packages of the others. */
  readonly load: () => Promise<{ readonly command: () => CommandUnknownOpts }>;
}

/** Every command of `tollgate`. A new one is a file and a line here. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  login: { summary: 'keep the address of a Rules API and a token for it', load: () => import('./login.js') },
  get: { summary: 'list merchants, rules, default rules or tokens', load: () => import('./get.js') },
  export: { summary: 'write merchants and rules as a file', load: () => import('./export.js') },
  apply: { summary: 'make merchants and rules what a file says', load: () => import('./apply.js') },
  diff: { summary: 'say how a file differs from what is stored', load: () => import('./diff.js') },
  history: { summary: 'list the changes of a merchant or a rule', load: () => import('./history.js') },
  revert: { summary: 'go back to a former version of a rule', load: () => import('./revert.js') },
  audit: { summary: 'list the audit, or check that nobody has altered it', load: () => import('./audit/audit.js') },
  load: { summary: 'send load to the gateway, and say whether every limit was kept', load: () => import('./load/load.js') },
  simulate: { summary: 'replay traffic through algorithms or topologies in virtual time', load: () => import('./simulate/simulate.js') },
  preload: { summary: 'carry all merchants from PostgreSQL to Redis now', load: () => import('./preload.js') },
  faults: { summary: 'break what a gateway stands on, and show what merchants see', load: () => import('./faults.js') },
};
