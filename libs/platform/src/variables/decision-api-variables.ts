import { expected, host, port, type Variable, wholeNumber, zeroOr } from './variable.js';

/** Whoever may ask for decisions. */
export interface DecisionCaller {
  /** For the log, and for its own limit. */
  readonly name: string;
  /** SHA-256 of its token. */
  readonly digest: Buffer;
}

const MOST_CALLERS = 100;
const CALLER = /^([a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?):([0-9a-f]{64})$/;
const CALLERS_EXPECTED = `at most ${MOST_CALLERS} of name:hash, separated by commas, with names of small letters, digits, - or _, and the SHA-256 of each token in 64 hexadecimal digits`;

/** @throws ExpectationError */
function decisionCallers(text: string): readonly DecisionCaller[] {
  if (text === '') return [];
  const callers = text.split(',').map((item): DecisionCaller => {
    const [, name, digest] = CALLER.exec(item.trim()) ?? [];
    return name === undefined || digest === undefined ? expected(CALLERS_EXPECTED) : { name, digest: Buffer.from(digest, 'hex') };
  });
  if (callers.length > MOST_CALLERS) return expected(CALLERS_EXPECTED);
  // One name may have two tokens while it changes from one to the other; one token has one name.
  if (new Set(callers.map(({ digest }) => digest.toString('hex'))).size < callers.length) return expected(`${CALLERS_EXPECTED}, each once`);
  return callers;
}

/** The variables that only the decision API reads, in the order in which help texts print them. */
export const DECISION_API_VARIABLES = {
  decisionApiPort: {
    name: 'DECISION_API_PORT',
    apps: ['decision-api'],
    default: '8090',
    meaning: 'port on which the decision API is asked by HTTP; 0 takes any free one',
    parse: port,
  },
  decisionApiGrpcPort: {
    name: 'DECISION_API_GRPC_PORT',
    apps: ['decision-api'],
    default: '8091',
    meaning: 'port on which the decision API is asked by gRPC, also by Envoy; 0 takes any free one',
    parse: port,
  },
  decisionApiHost: {
    name: 'DECISION_API_HOST',
    apps: ['decision-api'],
    default: '127.0.0.1',
    meaning: 'address on which the decision API is asked; 0.0.0.0 for all, as containers need it',
    parse: host,
  },
  decisionApiManagementPort: {
    name: 'DECISION_API_MANAGEMENT_PORT',
    apps: ['decision-api'],
    default: '8092',
    meaning: "port of the decision API's health and metrics; 0 takes any free one",
    parse: port,
  },
  decisionApiTokens: {
    name: 'DECISION_API_TOKENS',
    apps: ['decision-api'],
    default: '',
    secret: true,
    meaning:
      'who may ask: NAME:HASH, separated by commas, with the SHA-256 of a random token; unset: only this machine may, without a token',
    parse: decisionCallers,
  },
  decisionApiCallerPerSecond: {
    name: 'DECISION_API_CALLER_PER_SECOND',
    apps: ['decision-api'],
    default: '20000',
    meaning: 'decisions a second for which one caller may ask one decision API, and as many at once; 0: any number',
    parse: zeroOr(1, 1_000_000, ' decisions a second'),
  },
  decisionApiClaimMs: {
    name: 'DECISION_API_CLAIM_MS',
    apps: ['decision-api'],
    default: '60000',
    meaning: 'milliseconds for which a claim can be refunded or settled',
    parse: wholeNumber(1_000, 3_600_000, ' milliseconds'),
  },
  decisionApiMaxWaitMs: {
    name: 'DECISION_API_MAX_WAIT_MS',
    apps: ['decision-api'],
    default: '30000',
    meaning: 'milliseconds that a call waits for tokens at most, whatever it asks for',
    parse: wholeNumber(100, 300_000, ' milliseconds'),
  },
  decisionApiMaxWaiting: {
    name: 'DECISION_API_MAX_WAITING',
    apps: ['decision-api'],
    default: '1000',
    meaning: 'maximum of calls that wait for tokens, a tenth of them for one merchant; 0: nobody waits',
    parse: zeroOr(10, 100_000, ' calls'),
  },
} as const satisfies Record<string, Variable<unknown>>;
