import type { HeadersOf, PathReader, Problem } from '#edge';
import { type ClaimOutcome, type Enforcer, isVerdict, type Outcome } from '#enforcement';
import type { AnswerFacts } from '#limiter';
import { type CheckRequest, descriptorOf } from './check-request.js';
import { decisionOf, type MadeDecision } from './decision.js';

export interface DecisionsOptions {
  readonly enforcer: Pick<Enforcer, 'check' | 'claim' | 'refundClaim' | 'settleClaim'>;
  readonly headersOf: HeadersOf;
  /** What may be in a path, and what becomes of it. */
  readonly readPath: PathReader;
  readonly pathCaseSensitive: boolean;
  /** For how long a claim can be ended, in milliseconds. */
  readonly claimMs: number;
}

/** The path of a request is one that servers read in different ways. */
export class PathRefusedError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.title);
    this.name = 'PathRefusedError';
  }
}

/** Redis did not answer in time, or not at all: whether the claim has ended is not known, and to ask again does no harm. */
export class ClaimUnavailableError extends Error {
  constructor(cause: unknown) {
    super('the claim cannot be ended at the moment', { cause });
    this.name = 'ClaimUnavailableError';
  }
}

/** What every door of this app asks. It adds no way of deciding to the enforcer. */
export class Decisions {
  constructor(private readonly options: DecisionsOptions) {}

  /**
   * Decides about a request, and takes what it costs if it passes. Within bounded time.
   *
   * @param requestId by which a receipt of the decision is found. Characters that are harmless in a log, at most 64
   * @throws PathRefusedError
   */
  async check(request: CheckRequest, requestId = ''): Promise<MadeDecision> {
    const decision = await this.decide(request, this.targetOf(request), requestId);
    return request.wantClaim === true ? this.claimed(decision) : decision;
  }

  /**
   * Decides as `check` does about a request that wants no claim, without a promise: calls back once, perhaps before it returns.
   *
   * @throws PathRefusedError
   */
  checkThen(request: CheckRequest, requestId: string, answer: (decision: MadeDecision | Error) => void): void {
    const { headersOf } = this.options;
    this.ask(request, this.targetOf(request), requestId, (outcome) => {
      let decision: MadeDecision | Error;
      try {
        decision = decisionOf(outcome, headersOf);
      } catch (error) {
        // The enforcer calls back for others, too.
        decision = error as Error;
      }
      answer(decision);
    });
  }

  /**
   * Decides about several requests: about each for itself, or about all together. All together pass, or none: what was taken for some of them is given back if another
   * is refused. They are asked side by side, so that for a moment others may be refused by what is given back then.
   *
   * @throws PathRefusedError before anything is taken
   */
  async checkSeveral(requests: readonly CheckRequest[], mode: 'all' | 'each', requestId = ''): Promise<readonly MadeDecision[]> {
    const targets = requests.map((request) => this.targetOf(request));
    const decisions = await Promise.all(requests.map((request, i) => this.decide(request, targets[i]!, requestId)));
    if (mode === 'all' && decisions.some(({ allowed }) => !allowed)) {
      for (const decision of decisions) this.giveBack(decision);
      return decisions;
    }
    return Promise.all(decisions.map(async (decision, i) => (requests[i]!.wantClaim === true ? this.claimed(decision) : decision)));
  }

  /** As if the request of a decision had never come. For decisions whose claim nobody has been told. */
  giveBack({ outcome }: MadeDecision): void {
    if (isVerdict(outcome)) for (const reservation of outcome.reservations) reservation.refund();
  }

  /** Gives back what a decision took, as if the request had never come. @throws ClaimUnavailableError */
  refund(claim: string): Promise<ClaimOutcome> {
    return ended(this.options.enforcer.refundClaim(claim));
  }

  /** The request of a decision is over. @param answer what is known of its answer, by which rules charge @throws ClaimUnavailableError */
  settle(claim: string, answer?: AnswerFacts): Promise<ClaimOutcome> {
    return ended(this.options.enforcer.settleClaim(claim, answer));
  }

  private targetOf({ path = '/' }: CheckRequest): string {
    const target = this.options.readPath(path);
    if (typeof target !== 'string') throw new PathRefusedError(target);
    return target;
  }

  private decide(request: CheckRequest, target: string, requestId: string): Promise<MadeDecision> {
    const { headersOf } = this.options;
    return new Promise((resolve) => this.ask(request, target, requestId, (outcome) => resolve(decisionOf(outcome, headersOf))));
  }

  private ask(request: CheckRequest, target: string, requestId: string, answer: (outcome: Outcome) => void): void {
    const { enforcer, pathCaseSensitive } = this.options;
    enforcer.check(descriptorOf(request, target, !pathCaseSensitive), answer, requestId);
  }

  private async claimed(decision: MadeDecision): Promise<MadeDecision> {
    const { enforcer, claimMs } = this.options;
    const { outcome } = decision;
    return isVerdict(outcome) && outcome.allowed ? { ...decision, claim: await enforcer.claim(outcome, claimMs) } : decision;
  }
}

function ended(ending: Promise<ClaimOutcome>): Promise<ClaimOutcome> {
  return ending.catch((error: unknown) => {
    throw new ClaimUnavailableError(error);
  });
}
