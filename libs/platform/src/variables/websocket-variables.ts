import { type Variable, wholeNumber } from './variable.js';

/** WebSockets that pass through a gateway. */
export const WEBSOCKET_VARIABLES = {
  maxWebSockets: {
    name: 'MAX_WEBSOCKETS',
    apps: ['gateway'],
    default: '1000',
    meaning: 'maximum of open WebSockets; 0 refuses them',
    parse: wholeNumber(0, 1_000_000, ' WebSockets'),
  },
  webSocketIdleTimeoutMs: {
    name: 'WEBSOCKET_IDLE_TIMEOUT_MS',
    apps: ['gateway'],
    default: '120000',
    meaning: 'milliseconds that nothing may come on a WebSocket, from either side',
    parse: wholeNumber(1_000, 86_400_000, ' milliseconds'),
  },
} as const satisfies Record<string, Variable<unknown>>;
