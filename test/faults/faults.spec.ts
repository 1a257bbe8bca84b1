/**
 * Everything that a gateway stands on is made ill under load, one after the other; the answers and the upstream judge. In `npm test`
 * each fault lasts a third of a second, and how long anything takes is not judged, because the machine may be busy. The long form
 * judges that as well, and prints the table: npm run faults
 */
import { appendFileSync } from 'node:fs';
import { jest } from '@jest/globals';
import { obtainFaketime } from '../../scripts/services/fetch-redis.mjs';
import { PATIENCE } from '../support/patience.mjs';
import { shiftedRedis, type ShiftedRedis } from '../support/shifted-redis.js';
import { FaultBed, type Observed } from './bed.js';
import { STORE_AWAY, type Fault } from './fault.js';
import { FAULTS } from './faults.js';
import { FAULTS_OF_THE_CLOCK } from './faults-of-machines.js';
import { isOverLimit, MERCHANTS, OVER_LIMIT, PASSES_AGAIN, type Merchant } from './merchants.js';
import { watchWaits } from './waits.js';

const SECONDS = Number(process.env['TOLLGATE_FAULT_SECONDS'] ?? 0.3);
const TABLE = process.env['TOLLGATE_FAULT_TABLE'];
const judgesTime = TABLE !== undefined;
const isByHand = process.env['TOLLGATE_FAULT_SECONDS'] !== undefined;

const WARM_UP_MS = 3000;
const QUIET_MS = judgesTime ? 1000 : 150;
/** Healed is what goes well for so long. */
const STEADY_MS = judgesTime ? 1500 : 200;
const HEALS_WITHIN_MS = 10_000;
const MOST_ATTEMPTS = 3;
// Three times the longest fault, and room to heal.
if (judgesTime) jest.setTimeout(600_000);

let bed: FaultBed;

async function openBed(redisClock?: ShiftedRedis): Promise<void> {
  // A busy machine gets no more load than it can carry: what it would do to the answers is not a fault.
  const patience = judgesTime ? 1 : PATIENCE;
  bed = await FaultBed.open({
    storeTimeoutMs: 25 * patience,
    upstreamTimeoutMs: 2000 * patience,
    mostUnderWay: judgesTime ? Infinity : 32,
    ...(redisClock && { redisClock }),
  });
  if (judgesTime) await warmUp();
}

/** Neither the gateways nor the process that measures shall be cold when the first fault comes: cold starts are tested elsewhere. */
async function warmUp(): Promise<void> {
  bed.startLoad();
  await bed.loadFor(WARM_UP_MS);
  await bed.stopLoad();
}

describe('under load', () => {
  beforeAll(() => openBed());
  afterAll(() => bed.close());
  test.each(FAULTS.filter(({ onlyByHand = false }) => !onlyByHand || isByHand))('$name', judge);
});

// Where libfaketime is to be had; the Redis itself is started only if one of these tests is chosen.
if (isByHand && obtainFaketime() !== undefined)
  describe('under load, with a clock that steps', () => {
    beforeAll(async () => openBed(await shiftedRedis()));
    afterAll(() => bed.close());
    test.each(FAULTS_OF_THE_CLOCK)('$name', judge);
  });

/** Which moments a fault had. By performance.now(). */
interface Course {
  readonly beganMs: number;
  readonly brokenMs: number;
  readonly healedMs: number;
  readonly endedMs: number;
}

/**
 * In the long form the deadlines are the usual ones, and a machine that does something else meanwhile misses them. What went wrong then says nothing of the fault,
 * so it is tried again, and fails at last. That the machine was busy is what Linux says, not how late anything was.
 */
async function judge(fault: Fault): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const waits = watchWaits([bed.house.redisServer.pid, ...bed.gateways.map(({ pid }) => pid)]);
    const verdict = judged(fault, await run(fault));
    const { busy, share } = waits();
    const isRepeated = judgesTime && verdict.isWrong && busy && attempt < MOST_ATTEMPTS;
    if (isRepeated) {
      process.stderr.write(
        `${fault.name}: tried again, because ${Math.round(share * 100)} % of the time was spent waiting for a processor\n`,
      );
      continue;
    }
    if (judgesTime) appendFileSync(TABLE, `${verdict.row}\n`);
    verdict.demandRight();
    return;
  }
}

interface Verdict {
  readonly row: string;
  readonly isWrong: boolean;
  /** Fails if something was wrong. */
  demandRight(): void;
}

function judged(fault: Fault, course: Course): Verdict {
  const { beganMs, brokenMs, healedMs, endedMs } = course;
  const healedAfterMs = bed.healedAfterMs(healedMs);
  const admitted = OVER_LIMIT.map((merchant) => {
    const { count, bound } = bed.admitted(merchant, beganMs, endedMs);
    return { merchant, count, most: bound + (fault.bucketsLost ?? 0) * PASSES_AGAIN[merchant] };
  });
  const wrong = [
    ...MERCHANTS.flatMap((merchant) => unexpected(bed.observed(beganMs, brokenMs), merchant, usualOf(merchant))),
    ...MERCHANTS.flatMap((merchant) =>
      unexpected(bed.observed(brokenMs, endedMs), merchant, [...usualOf(merchant), ...(fault.allowed[merchant] ?? [])]),
    ),
    ...bed.received.contradictions(bed.answers),
  ];
  const told = wrong.length > tolerated(wrong) ? wrong : [];
  const isLate = judgesTime && healedAfterMs > fault.healsWithinMs;
  const above = admitted.filter(({ count, most }) => count > most);
  return {
    row: row(fault, course, { wrong: wrong.length, shares: admitted.map(({ count, most }) => count / most), healedAfterMs }),
    isWrong: told.length > 0 || isLate || above.length > 0,
    demandRight() {
      expect(told).toEqual([]);
      if (judgesTime) expect(healedAfterMs).toBeLessThanOrEqual(fault.healsWithinMs);
      expect(above).toEqual([]);
    },
  };
}

async function run(fault: Fault): Promise<Course> {
  bed.answers.length = 0;
  bed.received.forget();
  const beganMs = performance.now();
  bed.startLoad();
  try {
    return { beganMs, ...(await breakAndHeal(fault, beganMs)) };
  } finally {
    await bed.stopLoad();
  }
}

async function breakAndHeal(fault: Fault, beganMs: number): Promise<Omit<Course, 'beganMs'>> {
  await bed.loadFor(QUIET_MS);
  await bed.untilAllServed(beganMs, HEALS_WITHIN_MS);
  const brokenMs = performance.now();
  await fault.breakIt(bed);
  await bed.loadFor(1000 * (judgesTime ? Math.max(SECONDS, fault.seconds ?? 0) : SECONDS));
  const healedMs = performance.now();
  await fault.heal(bed);
  await bed.untilSteady(healedMs, STEADY_MS, HEALS_WITHIN_MS);
  // Where nobody is answered, nothing is wrong either.
  await bed.untilAllServed(healedMs, HEALS_WITHIN_MS);
  return { brokenMs, healedMs, endedMs: performance.now() };
}

/** What a merchant may get without any fault. */
function usualOf(merchant: Merchant): readonly number[] {
  return [200, ...(isOverLimit(merchant) ? [429] : []), ...(judgesTime ? [] : onlySlow(merchant))];
}

/** What a machine that is busy elsewhere may bring about without any fault. */
function onlySlow(merchant: Merchant): readonly number[] {
  return merchant === 'open' || merchant === 'local' ? [] : STORE_AWAY[merchant];
}

/**
 * Of many answers one in two thousand may come from a moment in which the machine did something else, and a take was too late. They stand in
 * the table as wrong all the same; what lasts three seconds has too few answers for any.
 */
function tolerated(wrong: readonly string[]): number {
  return wrong.every((each) => /^(closed|limited|leased) was answered 503$/.test(each)) ? Math.floor(bed.answers.length / 2000) : 0;
}

/** One line for each answer. */
function unexpected({ statuses }: Observed, merchant: Merchant, allowed: readonly number[]): string[] {
  return Object.entries(statuses[merchant]).flatMap(([status, count]) =>
    allowed.includes(Number(status)) ? [] : Array<string>(count).fill(`${merchant} was answered ${status}`),
  );
}

interface Judged {
  readonly wrong: number;
  readonly shares: readonly number[];
  readonly healedAfterMs: number;
}

function row({ name }: Fault, { beganMs, brokenMs, healedMs, endedMs }: Course, { wrong, shares, healedAfterMs }: Judged): string {
  const [quiet, broken] = [bed.observed(beganMs, brokenMs), bed.observed(brokenMs, healedMs)];
  const said = (merchant: Merchant): string =>
    Object.entries(broken.statuses[merchant])
      .map(([status, count]) => `${count} x ${status === '0' ? 'cut' : status}`)
      .join(', ');
  const healed = healedAfterMs === 0 ? 'at once' : ms(healedAfterMs);
  const latency = `${ms(Math.max(0, broken.p99Ms - quiet.p99Ms))} | ${ms(bed.observed(brokenMs, endedMs).slowestMs)}`;
  return `| ${name} | ${MERCHANTS.map(said).join(' | ')} | ${wrong} | ${shares.map((share) => `${Math.round(share * 100)} %`).join(', ')} | ${latency} | ${healed} |`;
}

function ms(duration: number): string {
  return `${Math.round(duration)} ms`;
}
