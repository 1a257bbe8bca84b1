import { usableCores } from './usable-cores.js';
import { type Variable, wholeNumber } from './variable.js';

const MOST_WORKERS = 128;
const workers = wholeNumber(1, MOST_WORKERS, ', or cores');
const MOST_STANDBYS = 8;

/** The processes of one gateway. */
export const WORKER_VARIABLES = {
  gatewayWorkers: {
    name: 'GATEWAY_WORKERS',
    apps: ['gateway'],
    default: 'cores',
    meaning: 'processes that serve the port together; cores: as many as this process may use cores, in a container its share of them',
    parse: (text: string): number => (text === 'cores' ? Math.min(MOST_WORKERS, usableCores()) : workers(text)),
  },
  gatewayStandbyWorkers: {
    name: 'GATEWAY_STANDBY_WORKERS',
    apps: ['gateway'],
    default: '1',
    meaning: 'processes beside several workers that are warm and take the place of one that dies; 0: a new one is started then',
    parse: wholeNumber(0, MOST_STANDBYS),
  },
} as const satisfies Record<string, Variable<unknown>>;
