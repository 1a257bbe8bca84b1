import type { CommandUnknownOpts } from '@commander-js/extra-typings';

export interface CommandEntry {
  readonly summary: string;
  /** Loaded when it is called, so that a command does not pay for the packages of the others. */
  readonly load: () => Promise<{ readonly command: () => CommandUnknownOpts }>;
}

/** Every command of `tollgate`. A new one is a file and a line here. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  load: { summary: 'send load to the gateway, and say whether every limit was kept', load: () => import('./load/load.js') },
  simulate: { summary: 'replay traffic through algorithms or topologies in virtual time', load: () => import('./simulate/simulate.js') },
  preload: { summary: 'carry all merchants from PostgreSQL to Redis now', load: () => import('./preload.js') },
  faults: { summary: 'break what a gateway stands on, and show what merchants see', load: () => import('./faults.js') },
};
