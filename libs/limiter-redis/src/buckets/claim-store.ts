import { randomBytes } from 'node:crypto';
import { type AnswerFacts, compiledCharge, type Reservation } from '#limiter';
import { withDeadline } from '#waiting';
import { bySlot } from '../connection/by-slot.js';
import { isCluster, type RedisConnection } from '../connection/redis-connection.js';
import { type Claim, claimOf, claimText, MOST_CLAIM_CHARACTERS, parseClaim } from './claim-format.js';
import type { ClaimedTake } from './claimed-take.js';
import { type EndedClaim, packClaimed, packClaimEnd } from './refund-call.js';
import { claimKey, clusterBucketKey } from '../redis-keys.js';
import { Script } from '../scripts.js';
import type { Unreadable } from '../stored.js';

const endScript = new Script('settle-claim');
const refundScript = new Script('refund');

/** 128 random bits: whoever knows the name may end the claim. */
const NAME_BYTES = 16;
const NAME = /^[A-Za-z0-9_-]{22}$/;

/** What stands in the place of a claim that has ended, until its time is over. */
const ENDED = { refunded: '-refunded', settled: '-settled' } as const;
export type ClaimEnd = keyof typeof ENDED;

/**
 * What became of a claim: this call has ended it; it had ended before, and how; or nobody knows it, because its time is over, or because there never was one.
 * `given`: so many buckets were given something back. `edited`: of so many the rule was edited since, so that what was taken by the former numbers stays taken.
 */
export type ClaimOutcome =
  | {
      readonly outcome: ClaimEnd;
      readonly given: number;
      readonly edited: number;
      /** Whose refusals are no longer to be remembered. */ readonly keys: readonly string[];
    }
  | { readonly outcome: 'ended_before'; readonly as: ClaimEnd }
  | { readonly outcome: 'not_found' };

const NOT_FOUND: ClaimOutcome = { outcome: 'not_found' };

/** Whether a text has the form of a name of a claim. */
export function isClaimName(text: string): boolean {
  return NAME.test(text);
}

export interface ClaimStoreOptions {
  /** What time it is at Redis. */
  readonly nowMs: () => number;
  /** How long each call waits for Redis, in milliseconds of running time; unbounded unless given. */
  readonly deadlineMs?: number;
  /** Told of what stands there and is no claim that this version can read. */
  readonly onUnreadable?: (what: Pick<Unreadable, 'reason' | 'detail'>) => void;
}

/** What decisions took, under names, so that any process can give it back. All methods reject when Redis is away, or silent. */
export class RedisClaimStore {
  constructor(
    private readonly redis: RedisConnection,
    private readonly options: ClaimStoreOptions,
  ) {}

  /** The name of a new claim. Undefined if there is nothing to give back, or too much to be kept. If it rejects, nobody ever learns the name, and what was taken stays taken. */
  async keep(reservations: readonly Reservation[], forMs: number): Promise<string | undefined> {
    const claim = claimOf(reservations, this.options.nowMs());
    // A request of cost 0 only looks.
    if (claim.taken.length === 0) return undefined;
    const text = claimText(claim);
    if (text.length > MOST_CLAIM_CHARACTERS) return undefined;
    const name = randomBytes(NAME_BYTES).toString('base64url');
    await this.inTime(this.redis.set(claimKey(name), text, 'PX', forMs));
    return name;
  }

  /** As if the request had never come. If it rejects, the claim may have ended; to ask again does no harm. */
  refund(name: string): Promise<ClaimOutcome> {
    return this.end(name, 'refunded', ({ taken }) => taken);
  }

  /** The request is over, with what is known of its answer: what is charged only for some answers is given back if this is certainly none of them, and slots are free. */
  settle(name: string, answer: AnswerFacts = {}): Promise<ClaimOutcome> {
    return this.end(name, 'settled', ({ taken, conditions }) => {
      const stays = conditions.map((when) => compiledCharge({ on: 'response', when })!.stays(answer));
      return taken.filter(({ kind, unless }) => kind === SLOTS || (unless !== undefined && !stays[unless]));
    });
  }

  private async end(name: string, end: ClaimEnd, given: (claim: Claim) => readonly ClaimedTake[]): Promise<ClaimOutcome> {
    if (!isClaimName(name)) return NOT_FOUND;
    const key = claimKey(name);
    const text = await this.read(key);
    if (text === null) return NOT_FOUND;
    const before = endedBefore(text);
    if (before !== undefined) return before;
    const claim = parseClaim(text);
    if (!('value' in claim)) {
      this.options.onUnreadable?.(claim);
      return NOT_FOUND;
    }
    const takes = given(claim.value);
    const reply = await this.carryOut(takes, { key, text, ended: ENDED[end] });
    if (reply !== undefined) return { outcome: end, ...reply, keys: takes.map((take) => take.key) };
    // Somebody else was faster.
    return endedBefore((await this.read(key)) ?? '') ?? NOT_FOUND;
  }

  /** Ends the claim and gives back. Undefined if it has ended already. */
  private async carryOut(takes: readonly ClaimedTake[], claim: EndedClaim): Promise<GivenByClaim | undefined> {
    // In a cluster the buckets lie elsewhere: the claim ends first, so nothing is given twice. What is not given then stays taken.
    const together = isCluster(this.redis) ? [] : takes;
    const ending = endScript.runPacked(this.redis, () => packClaimEnd(together, claim)) as Promise<number[]>;
    const [ended, given, edited] = (await this.inTime(ending)) as [number, number, number];
    if (ended !== 1) return undefined;
    if (!isCluster(this.redis)) return { given, edited };
    const named = takes.map((take) => ({ ...take, key: clusterBucketKey(take.key) }));
    const calls = bySlot(this.redis, named, (take) => take.key).map(
      (some) => this.inTime(refundScript.runPacked(this.redis, () => packClaimed(some))) as Promise<[number, number]>,
    );
    const replies = await Promise.all(calls);
    return { given: sumOf(replies.map(([some]) => some)), edited: sumOf(replies.map(([, some]) => some)) };
  }

  private read(key: string): Promise<string | null> {
    return this.inTime(this.redis.get(key).catch(nothingOfOtherType));
  }

  /** Each call by itself: what answers goes on answering, and what is frozen is waited for once. */
  private inTime<T>(call: Promise<T>): Promise<T> {
    const { deadlineMs } = this.options;
    return deadlineMs === undefined ? call : withDeadline(call, deadlineMs);
  }
}

interface GivenByClaim {
  readonly given: number;
  readonly edited: number;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

const SLOTS = 'concurrency';

function endedBefore(text: string): ClaimOutcome | undefined {
  const found = (Object.keys(ENDED) as ClaimEnd[]).find((end) => ENDED[end] === text);
  return found && { outcome: 'ended_before', as: found };
}

/** What somebody else has put at a key counts as nothing. */
function nothingOfOtherType(error: unknown): null {
  if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return null;
  throw error;
}
