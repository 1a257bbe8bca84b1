import {
  bucketOf,
  editLimits,
  MemoryBucketStore,
  NewerRulesError,
  type BucketOperation,
  type LendRequest,
  type Lent,
  type Limit,
  type LimitSpec,
} from '../../src/index.js';
import { startedLimit } from '../arbitraries.js';
import { FakeClock } from '../fake-clock.js';
import { bucketTake, isAllowed, taken, type Answered } from '../takes.js';

/** What a lessee says, and what becomes of it. */
export type LeaseWord = {
  readonly lessee: number;
  readonly wants: number;
  readonly returns: number;
  readonly forUs: number;
  /** Undefined if it is lost. */
  readonly wayUs: number | undefined;
  readonly wayBackUs: number | undefined;
  readonly isDoubled: boolean;
};

/** What happens, so long after the event before. */
export type LeaseEvent = { readonly gapUs: number } & (
  | { readonly takes: number }
  | { readonly lessee: number; readonly spends: number }
  | LeaseWord
  | { readonly dies: number }
  | { readonly edit: LimitSpec }
  | { readonly operation: BucketOperation }
  | { readonly refunds: number }
  | { readonly stepUs: number }
);

/** A multiple of all windows and intervals of the property: boundaries are hit. */
const START_MS = 1_763_000_000_000;

/** What a lessee knows. It counts by its own clock, which goes on whatever that of the store does. */
interface Lessee {
  name: number;
  sequence: number;
  holds: number;
  endUs: number;
}

/** A word on its way to the store, or the answer on its way back. */
interface Message {
  readonly dueUs: number;
  readonly deliver: () => void;
}

/** A store that lends, lessees, what is on its way between them, and a plain bucket from which each token is taken when it is spent. */
export class LeaseWorld {
  readonly seen = { spent: 0, passed: 0, granted: 0, late: 0, lost: 0, deaths: 0, edits: 0, operations: 0, refunds: 0, ended: 0 };
  /** What passed that would not have passed at a plain bucket: when, and how many tokens. */
  readonly tooMany: { atUs: number; tokens: number }[] = [];
  beyond = 0;
  lentAtSteps = 0;
  stepsOfClock = 0;
  private readonly storeClock = new FakeClock(START_MS);
  private readonly trueClock = new FakeClock(START_MS);
  private readonly store = new MemoryBucketStore(this.storeClock.now);
  private readonly plain = new MemoryBucketStore(this.trueClock.now);
  private trueUs = START_MS * 1000;
  private offsetUs = 0;
  private limit: Limit;
  private lessees: Lessee[] = [1, 2, 3].map((name) => ({ name, sequence: 0, holds: 0, endUs: 0 }));
  private names = 3;
  private messages: Message[] = [];
  private readonly receipts: { store: Answered; plain: Answered }[] = [];

  constructor(spec: LimitSpec) {
    this.limit = startedLimit(spec, START_MS);
  }

  async does(event: LeaseEvent): Promise<void> {
    this.passTime(event.gapUs);
    if ('takes' in event) await this.take(event.takes);
    else if ('spends' in event) await this.spend(this.lessees[event.lessee]!, event.spends);
    else if ('wants' in event) this.send(this.lessees[event.lessee]!, event);
    else if ('dies' in event) this.die(event.dies);
    else if ('edit' in event) this.edit(event.edit);
    else if ('operation' in event) await this.operate(event.operation);
    else if ('refunds' in event) this.refund(event.refunds);
    else await this.step(event.stepUs);
  }

  /** Delivers what arrives meanwhile, in its order. */
  private passTime(gapUs: number): void {
    const untilUs = this.trueUs + gapUs;
    for (;;) {
      const [next] = this.messages.sort((a, b) => a.dueUs - b.dueUs);
      if (next === undefined || next.dueUs > untilUs) break;
      this.messages.shift();
      this.setTime(Math.max(this.trueUs, next.dueUs));
      next.deliver();
    }
    this.setTime(untilUs);
  }

  private setTime(trueUs: number): void {
    this.trueUs = trueUs;
    this.trueClock.nowMs = trueUs / 1000;
    this.storeClock.nowMs = (trueUs + this.offsetUs) / 1000;
  }

  private async take(cost: number): Promise<void> {
    const takes = [bucketTake('k', this.limit, cost)];
    const answered = await taken(this.store, takes);
    if (!isAllowed(answered) || cost === 0) return;
    this.seen.passed++;
    const plain = await this.passAtPlain(cost);
    if (plain !== undefined) this.receipts.push({ store: answered, plain });
  }

  private async spend(lessee: Lessee, tokens: number): Promise<void> {
    this.endInTime(lessee);
    const spent = Math.min(tokens, lessee.holds);
    if (spent === 0) return;
    this.seen.spent++;
    lessee.holds -= spent;
    await this.passAtPlain(spent);
  }

  private endInTime(lessee: Lessee): void {
    if (lessee.holds === 0 || this.trueUs < lessee.endUs) return;
    this.seen.ended++;
    lessee.holds = 0;
  }

  /** Takes from the plain bucket what has passed. What is not there is too much; of that, as much as is there is taken all the same. */
  private async passAtPlain(tokens: number): Promise<Answered | undefined> {
    const answered = await taken(this.plain, [bucketTake('k', this.limit, tokens)]);
    if (isAllowed(answered)) return answered;
    this.tooMany.push({ atUs: this.trueUs, tokens });
    for (let token = 0; token < tokens; token++) {
      if (!isAllowed(await taken(this.plain, [bucketTake('k', this.limit, 1)]))) this.beyond++;
    }
    return undefined;
  }

  private send(lessee: Lessee, { wants, returns, forUs, wayUs, wayBackUs, isDoubled }: LeaseWord): void {
    this.endInTime(lessee);
    const givesBack = Math.min(returns, lessee.holds);
    lessee.holds -= givesBack;
    const sentUs = this.trueUs;
    const { limit } = this;
    const sequence = ++lessee.sequence;
    const request: LendRequest = {
      key: 'k',
      bucket: bucketOf(limit),
      lessee: lessee.name,
      sequence,
      holds: lessee.holds,
      givesBack,
      overspent: 0,
      wants,
      forUs,
    };
    const hear = (lent: Lent): void => {
      if (lessee.sequence !== sequence || this.limit !== limit) {
        this.seen.late++;
        return;
      }
      if (lent.granted > 0) this.seen.granted++;
      lessee.holds = Math.min(lessee.holds, lent.kept) + lent.granted;
      lessee.endUs = Math.max(lessee.endUs, sentUs + lent.forUs);
    };
    if (wayUs === undefined || wayBackUs === undefined) this.seen.lost++;
    if (wayUs === undefined) return;
    const deliver = (): void =>
      this.store.lend(request, (outcome) => {
        if (outcome instanceof NewerRulesError || wayBackUs === undefined) return;
        this.messages.push({ dueUs: this.trueUs + wayBackUs, deliver: () => hear(outcome as Lent) });
      });
    this.messages.push({ dueUs: sentUs + wayUs, deliver });
    if (isDoubled) this.messages.push({ dueUs: sentUs + 2 * wayUs + 1, deliver: () => this.store.lend(request, () => {}) });
  }

  private die(index: number): void {
    this.seen.deaths++;
    this.lessees[index]!.sequence = Infinity;
    this.lessees[index] = { name: ++this.names, sequence: 0, holds: 0, endUs: 0 };
  }

  /** What was lent is void for those who hear of the edit, here all at once. */
  private edit(spec: LimitSpec): void {
    const [next] = editLimits([this.limit], [spec], Math.floor(this.trueUs / 1000));
    if (next!.generation === this.limit.generation) return;
    this.seen.edits++;
    this.limit = next!;
    for (const lessee of this.lessees) lessee.holds = 0;
  }

  /** Of tokens that an operator takes, only those are gone that were there. */
  private async operate(operation: BucketOperation): Promise<void> {
    this.seen.operations++;
    const bucket = bucketOf(this.limit);
    const { remaining } = await this.store.operate('k', bucket, { kind: 'read' });
    await this.store.operate('k', bucket, operation);
    const tokens = operation.kind === 'adjust' ? Math.max(operation.tokens, -remaining) : 0;
    if (operation.kind !== 'adjust') await this.plain.operate('k', bucket, operation);
    else if (tokens !== 0) await this.plain.operate('k', bucket, { kind: 'adjust', tokens });
  }

  private refund(index: number): void {
    const [receipt] = this.receipts.splice(index, 1);
    if (receipt === undefined) return;
    this.seen.refunds++;
    this.store.refund(receipt.store);
    this.plain.refund(receipt.plain);
  }

  /** Of a step forward a plain bucket has as much as of time that passes: its clock steps as well. */
  private async step(stepUs: number): Promise<void> {
    this.stepsOfClock++;
    // Whoever looks before the step finds what is lent.
    await taken(this.store, [bucketTake('k', this.limit, 0)]);
    const lent = this.lessees.reduce((sum, { holds, endUs }) => sum + (this.trueUs < endUs ? holds : 0), 0);
    if (stepUs > 0) {
      this.lentAtSteps += lent;
      this.messages = [];
      for (const lessee of this.lessees) {
        lessee.sequence++;
        lessee.endUs += stepUs;
      }
      this.setTime(this.trueUs + stepUs);
      return;
    }
    this.offsetUs += stepUs;
    this.setTime(this.trueUs);
  }
}
