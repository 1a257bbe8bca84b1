/**
 * Everything that a gateway stands on is made ill under load, one after the other; the answers and the upstream judge. In `npm test`
 * each fault lasts a third of a second, and how long anything takes is not judged, because the machine may be busy. The long form
 * judges that as well, and prints the table: npm run faults
 */
import { appendFileSync } from 'node:fs';
import { PATIENCE } from '../support/patience.mjs';
import { FaultBed, LIMITED, MERCHANTS, type Merchant, type Observed } from './bed.js';
import { FAULTS, STORE_AWAY, type Fault } from './faults.js';

const SECONDS = Number(process.env['TOLLGATE_FAULT_SECONDS'] ?? 0.3);
const TABLE = process.env['TOLLGATE_FAULT_TABLE'];
const judgesTime = TABLE !== undefined;
/** By hand all of them. */
const CHOSEN = FAULTS.filter(({ onlyByHand = false }) => !onlyByHand || process.env['TOLLGATE_FAULT_SECONDS'] !== undefined);

const WARM_UP_MS = 3000;
const QUIET_MS = judgesTime ? 300 : 150;
/** Healed is what goes well for so long. */
const STEADY_MS = judgesTime ? 1500 : 200;
const HEALS_WITHIN_MS = 10_000;

let bed: FaultBed;

beforeAll(async () => {
  // A busy machine gets no more load than it can carry: what it would do to the answers is not a fault.
  bed = await FaultBed.open(
    judgesTime ? { storeTimeoutMs: 25, mostUnderWay: Infinity } : { storeTimeoutMs: 25 * PATIENCE, mostUnderWay: 32 },
  );
  if (judgesTime) await warmUp();
});

afterAll(() => bed.close());

/** Neither the gateways nor the process that measures shall be cold when the first fault comes: cold starts are tested elsewhere. */
async function warmUp(): Promise<void> {
  bed.startLoad();
  await bed.loadFor(WARM_UP_MS);
  await bed.stopLoad();
}

test.each(CHOSEN)('$name', async (fault) => {
  bed.answers.length = 0;
  const beganMs = performance.now();
  bed.startLoad();
  await bed.loadFor(QUIET_MS);
  await bed.untilAllServed(beganMs, HEALS_WITHIN_MS);
  const brokenMs = performance.now();
  await fault.breakIt(bed);
  await bed.loadFor(SECONDS * 1000);
  const healedMs = performance.now();
  await fault.heal(bed);
  await bed.untilSteady(healedMs, STEADY_MS, HEALS_WITHIN_MS);
  // Where nobody is answered, nothing is wrong either.
  await bed.untilAllServed(healedMs, HEALS_WITHIN_MS);
  const endedMs = performance.now();
  await bed.stopLoad();

  const healedAfterMs = bed.healedAfterMs(healedMs);
  const { count, bound } = bed.admitted(beganMs, endedMs);
  const most = bound + (fault.bucketsLost ?? 0) * LIMITED.capacity;
  if (judgesTime)
    appendFileSync(
      TABLE,
      `${row(fault, bed.observed(brokenMs, healedMs), bed.observed(brokenMs, endedMs).slowestMs, healedAfterMs, count / most)}\n`,
    );

  for (const merchant of MERCHANTS) {
    const usual = [200, ...(merchant === 'limited' ? [429] : []), ...(judgesTime ? [] : onlySlow(merchant))];
    expect({ merchant, unexpected: others(bed.observed(beganMs, brokenMs), merchant, usual) }).toEqual({ merchant, unexpected: {} });
    const meanwhile = [...usual, ...(fault.allowed[merchant] ?? [])];
    expect({ merchant, unexpected: others(bed.observed(brokenMs, endedMs), merchant, meanwhile) }).toEqual({ merchant, unexpected: {} });
  }
  if (judgesTime) expect(healedAfterMs).toBeLessThanOrEqual(fault.healsWithinMs);
  expect(count).toBeLessThanOrEqual(most);
});

/** What a machine that is busy elsewhere may bring about without any fault. */
function onlySlow(merchant: Merchant): readonly number[] {
  return merchant === 'open' || merchant === 'local' ? [] : STORE_AWAY[merchant];
}

function others({ statuses }: Observed, merchant: Merchant, allowed: readonly number[]): Record<string, number> {
  return Object.fromEntries(Object.entries(statuses[merchant]).filter(([status]) => !allowed.includes(Number(status))));
}

function row({ name }: Fault, { statuses }: Observed, slowestMs: number, healedAfterMs: number, share: number): string {
  const said = (merchant: Merchant): string =>
    Object.entries(statuses[merchant])
      .map(([status, count]) => `${count} x ${status === '0' ? 'cut' : status}`)
      .join(', ');
  const healed = healedAfterMs === 0 ? 'at once' : `${Math.round(healedAfterMs)} ms`;
  return `| ${name} | ${said('open')} | ${said('local')} | ${said('closed')} | ${said('limited')} | ${Math.round(share * 100)} % | ${Math.round(slowestMs)} ms | ${healed} |`;
}
