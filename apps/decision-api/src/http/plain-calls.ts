import type { Logger } from '#platform';
import type { Callers } from '../callers/callers.js';
import { type Answer, problemAnswer } from './answer.js';
import { answerText } from './answer-text.js';
import type { CallCounts } from './call-counts.js';
import type { PlainRoute, Routes } from './call.js';
import type { CallerConnection } from './caller-connection.js';
import { tooManyBodies, tooManyCalls } from '../problems.js';
import { answerOfError } from './errors.js';
import type { PlainConnection } from './plain-connection.js';
import type { PlainHead } from './plain-head.js';
import type { BodyBudget } from './request-body.js';

export interface PlainCallsOptions {
  readonly routes: Routes;
  readonly callers: Callers;
  readonly counts: CallCounts;
  readonly logger: Pick<Logger, 'error'>;
  readonly maxInFlight: number;
  readonly keepAliveMs: number;
  readonly budget: BodyBudget;
  readonly nextRequestId: () => string;
  /** Whether every answer closes its connection. */
  readonly isDraining: () => boolean;
}

/** The calls that are made by plain requests: bounded and counted as all others, without a promise or a stream for each. */
export class PlainCalls {
  private readonly byPath = new Map<string, PlainRoute>();

  constructor(private readonly options: PlainCallsOptions) {
    for (const [path, { plain }] of Object.entries(options.routes)) if (plain !== undefined) this.byPath.set(path, plain);
  }

  /** False if a call of this path is made in another way. */
  serve(head: PlainHead, body: Buffer, caller: CallerConnection, connection: PlainConnection): boolean {
    const route = this.byPath.get(head.path);
    if (route === undefined || body.length > route.mostBytes) return false;
    const { counts, maxInFlight, nextRequestId, logger } = this.options;
    const requestId = head.requestId ?? nextRequestId();
    const isFull = counts.inFlight >= maxInFlight;
    counts.inFlight++;
    caller.began();
    let isAnswered = false;
    const answered = (outcome: Answer | Error): void => {
      if (isAnswered) return;
      isAnswered = true;
      const answer = outcome instanceof Error ? answerOfError(outcome, requestId, logger) : outcome;
      counts.inFlight--;
      counts.count(head.path, answer.status);
      caller.answered();
      this.write(answer, requestId, caller, connection);
    };
    if (isFull) answered(problemAnswer(tooManyCalls(), requestId));
    else this.ask(route, { head, body, caller, requestId }, answered);
    return true;
  }

  private ask(route: PlainRoute, { head, body, caller, requestId }: Asked, answered: (outcome: Answer | Error) => void): void {
    const { budget, callers } = this.options;
    try {
      const name = caller.callerOf(head, callers);
      // It is in memory for no longer than it takes to read it.
      if (!budget.take(body.length)) throw tooManyBodies();
      budget.giveBack(body.length);
      route.handle(body, { caller: name, requestId }, answered);
    } catch (error) {
      answered(error as Error);
    }
  }

  private write(answer: Answer, requestId: string, caller: CallerConnection, connection: PlainConnection): void {
    const { isDraining, keepAliveMs, logger } = this.options;
    const closes = isDraining();
    try {
      const { text, encoding } = answerText(answer, requestId, closes ? undefined : keepAliveMs);
      connection.answered(text, encoding, closes);
    } catch (err) {
      logger.error({ err, requestId }, 'an answer could not be written');
      caller.cut();
    }
  }
}

interface Asked {
  readonly head: PlainHead;
  readonly body: Buffer;
  readonly caller: CallerConnection;
  readonly requestId: string;
}
