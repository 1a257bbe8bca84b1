import type { BodyFacts } from '../body/json-body.js';

/** The facts of a request that rules look at. */
export interface Descriptor {
  readonly merchantId: string;
  /** The client's address, in one spelling for each address. */
  readonly ip: string;
  /** HTTP method, in capitals. */
  readonly method: string;
  /** Request target in origin form, as it is forwarded. */
  readonly target: string;
  /** Whether rules do not tell upper from lower case in the path. */
  readonly ignorePathCase?: boolean;
  /** Which of the merchant's users asks, where that is known. */
  readonly user?: string | undefined;
  /** With which API key, where there is one: its id and its labels, never the key. */
  readonly apiKey?: { readonly id: string; readonly labels?: Readonly<Record<string, string>> } | undefined;
  /** The claims of the token with which it came, as the JSON text of an object. It is taken apart only where a rule looks at a claim. */
  readonly jwt?: string | undefined;
  /**
   * What has to be the same of a request and its retry, where the client says that it may be one: its key of idempotency, and what it asks. Undefined: it is charged like
   * any other.
   */
  readonly retryKey?: string | undefined;
  /** For how many such requests the door asks at once: each bucket is asked for so many times what the rule says. Undefined: one. 0 takes nothing. */
  readonly times?: number | undefined;
  /** What else the door can tell. It is asked only where a rule looks at it, and may be computed then; without it these fields are absent. */
  readonly more?: RequestFacts;
}

/** Facts that few rules look at. */
export interface RequestFacts {
  /**
   * The values of a header as they are forwarded, one for each line of this name, as texts. Headers that are not forwarded have none.
   *
   * @param name in lower case
   */
  headerValues(name: string): readonly string[];
  /** The host that was asked for as the client wrote it, or nothing. */
  readonly hostName: string | undefined;
  /** ISO 3166-1 alpha-2, in capitals, where it is known. */
  readonly country?: string | undefined;
  /** What is in the body, once it has been read; undefined before that, and where nobody can read it. */
  readonly body?: BodyFacts | undefined;
  /**
   * Reads the body, where the door can, for a rule that looks at it. Within bounded time and memory it calls back once, when `body` is there; a door that
   * gives the request up meanwhile does not call back.
   */
  readonly readBody?: ((done: () => void) => void) | undefined;
}

/** What is known of the answer to a request. */
export interface AnswerFacts {
  /** Undefined: none has come. */
  readonly head?: AnswerHead | undefined;
  /** Undefined: nobody has looked. */
  readonly body?: BodyFacts | undefined;
}

export interface AnswerHead {
  readonly status: number;
  /** One for each line of this name. @param name in lower case */
  headerValues(name: string): readonly string[];
}
