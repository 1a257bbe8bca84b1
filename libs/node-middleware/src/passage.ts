import { isVerdict, type Outcome } from '#enforcement';
import { type HeadersOf, refusalOf, refusalWithoutVerdict, unavailable } from '#edge';
import type { AnswerFacts, AnswerHead, BodyFacts, Verdict } from '#limiter';
import { type InFlight, InFlightSet, NOWHERE } from '#waiting';
import type { Answer } from './describe.js';
import type { NodeResponse } from './node-http.js';
import { watchBody } from './watched-body.js';

/** What becomes of a request: it goes on, with headers for its answer; it is answered so; or nobody waits for an answer any more. */
export type Admission =
  { readonly passes: true; readonly headers: readonly string[] } | { readonly passes: false; readonly answer: Answer } | 'gone';

export const PASSES: Admission = { passes: true, headers: [] };

/** Flat lists of names and values. */
type Reservations = Verdict['reservations'];

const NO_RESERVATIONS: Reservations = [];

export interface PassageSettings {
  readonly headersOf: HeadersOf;
  /** Requests that wait their turn, at most. */
  readonly maxWaiting: number;
}

/** Requests from the question about them to the end of their answers. */
export class Passages {
  private readonly underWay = new InFlightSet<Passage>();
  private readonly waiters = new Set<() => void>();
  waiting = 0;

  constructor(readonly settings: PassageSettings) {}

  get size(): number {
    return this.underWay.size;
  }

  /** @param done is called once */
  begin(response: NodeResponse, requestId: string, done: (admission: Admission) => void): Passage {
    const passage = new Passage(this, response, requestId, done);
    this.underWay.add(passage);
    return passage;
  }

  ended(passage: Passage): void {
    this.underWay.delete(passage);
    if (this.size === 0) for (const tell of this.waiters) tell();
  }

  /**
   * Resolves when nothing is under way, and after `graceMs` in any case: what is left then gives back what it holds.
   *
   * @param closed is called before that: from then on nothing may begin
   */
  async close(graceMs: number, closed: () => void): Promise<void> {
    if (this.size > 0) {
      await new Promise<void>((resolve) => {
        const tell = (): void => {
          clearTimeout(timer);
          this.waiters.delete(tell);
          resolve();
        };
        const timer = setTimeout(tell, graceMs);
        this.waiters.add(tell);
      });
    }
    closed();
    for (const passage of this.underWay.now()) passage.cut();
  }
}

type Phase = 'asking' | 'waiting' | 'passing' | 'over';

/** One request, from the question about it to the end of its answer. What it took is settled exactly once, whatever ends it. */
export class Passage implements InFlight {
  place = NOWHERE;
  private phase: Phase = 'asking';
  private reservations = NO_RESERVATIONS;
  private timer: NodeJS.Timeout | undefined;
  private bodyFacts: (() => BodyFacts) | undefined;

  constructor(
    private readonly passages: Passages,
    private readonly response: NodeResponse,
    private readonly requestId: string,
    private readonly done: (admission: Admission) => void,
  ) {
    // Either may be the first, and a connection that breaks knows no `finish`.
    response.once('finish', this.ended);
    response.once('close', this.ended);
  }

  decided(outcome: Outcome): void {
    if (this.phase !== 'asking' || this.isAnswered) {
      // Somebody else has answered, or nobody waits for an answer.
      if (isVerdict(outcome)) for (const reservation of outcome.reservations) reservation.refund();
      this.giveUp('gone');
      return;
    }
    const { headersOf, maxWaiting } = this.passages.settings;
    if (!isVerdict(outcome)) return this.giveUp({ passes: false, answer: refusalWithoutVerdict(outcome.reason, this.requestId) });
    if (!outcome.allowed) return this.giveUp({ passes: false, answer: refusalOf(outcome, this.requestId, headersOf) });
    this.reservations = outcome.reservations;
    const headers = headersOf(outcome.limits);
    if (outcome.waitMs === 0) return this.pass(headers);
    if (this.passages.waiting >= maxWaiting) return this.giveUp({ passes: false, answer: tooManyWaiting(this.requestId) });
    this.phase = 'waiting';
    this.passages.waiting++;
    this.timer = setTimeout(() => this.pass(headers), outcome.waitMs);
  }

  /** Asks no more: nothing can be decided about the request, or the process ends. */
  cut(): void {
    this.over({ passes: false, answer: stopping(this.requestId) });
  }

  /** Another one has decided, or nobody can. */
  giveUp(admission: Admission): void {
    if (this.phase === 'asking') this.over(admission);
  }

  private get isAnswered(): boolean {
    const { headersSent, writableEnded, destroyed } = this.response;
    return headersSent || writableEnded || destroyed;
  }

  private pass(headers: readonly string[]): void {
    if (this.phase === 'over') return;
    if (this.isAnswered) return this.over('gone');
    this.stopWaiting();
    this.phase = 'passing';
    if (this.reservations.some(({ readsAnswer }) => readsAnswer === 'body')) this.bodyFacts = watchBody(this.response, this.head);
    this.done({ passes: true, headers });
  }

  private readonly ended = (): void => this.over('gone');

  /** @param told to whoever waits for an admission, if there has been none */
  private over(told: Admission): void {
    if (this.phase === 'over') return;
    const { phase, reservations } = this;
    this.stopWaiting();
    this.phase = 'over';
    this.reservations = NO_RESERVATIONS;
    const facts = phase === 'passing' && reservations.length > 0 ? this.answerFacts() : undefined;
    for (const reservation of reservations) {
      if (facts === undefined) reservation.refund();
      else reservation.release(facts);
    }
    this.passages.ended(this);
    if (phase !== 'passing') this.done(told);
  }

  private stopWaiting(): void {
    if (this.phase !== 'waiting') return;
    this.passages.waiting--;
    clearTimeout(this.timer);
  }

  /** An answer that has not begun is one that nobody knows. */
  private answerFacts(): AnswerFacts {
    const body = this.bodyFacts?.();
    return this.response.headersSent ? { head: this.head(), body } : {};
  }

  private readonly head = (): AnswerHead => {
    const { response } = this;
    return { status: response.statusCode, headerValues: (name) => textsOf(response.getHeader(name)) };
  };
}

function textsOf(value: ReturnType<NodeResponse['getHeader']>): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'object' ? value : [String(value)];
}

export function stopping(requestId: string): Answer {
  return unavailable('limiter.unavailable', 'The service is stopping.', requestId);
}

function tooManyWaiting(requestId: string): Answer {
  return unavailable('wait.too_many', 'Too many requests wait for their turn. This one cost nothing; send it again later.', requestId);
}
