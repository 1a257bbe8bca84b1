/**
 * Everything that a gateway stands on is made ill under load, one after the other; the answers and the upstream judge. In `npm test`
 * each fault lasts half a second, and how long anything takes is not judged, because the machine may be busy. The long form
 * judges that as well, and prints the table: npm run faults
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE } from '../support/patience.mjs';
import { FaultBed, LIMITED, MERCHANTS, type Merchant, type Observed } from './bed.js';
import { FAULTS, STORE_AWAY, type Fault } from './faults.js';

const SECONDS = Number(process.env['TOLLGATE_FAULT_SECONDS'] ?? 0.5);
const TABLE = process.env['TOLLGATE_FAULT_TABLE'];
const judgesTime = TABLE !== undefined;

const QUIET_MS = 300;
/** Healed is what goes well for so long. */
const STEADY_MS = judgesTime ? 1500 : 300;
const GIVE_UP_AFTER_MS = 10_000;

let bed: FaultBed;

beforeAll(async () => {
  bed = await FaultBed.open({ storeTimeoutMs: judgesTime ? 25 : 25 * PATIENCE });
  // Two processes have just started: their first second is the cold start's matter.
  if (judgesTime) await sleep(2000);
});

afterAll(() => bed.close());

test.each(FAULTS)('$name', async (fault) => {
  bed.answers.length = 0;
  const beganMs = performance.now();
  bed.startLoad();
  await sleep(QUIET_MS);
  const brokenMs = performance.now();
  await fault.breakIt(bed);
  await sleep(SECONDS * 1000);
  const healedMs = performance.now();
  await fault.heal(bed);
  await bed.untilSteady(healedMs, STEADY_MS, GIVE_UP_AFTER_MS * PATIENCE);
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
    expect(bed.answers.some((answer) => answer.merchant === merchant && answer.status === 200)).toBe(true);
  }
  if (judgesTime) expect(healedAfterMs).toBeLessThanOrEqual(fault.healsWithinMs);
  else expect(healedAfterMs).toBeLessThan(GIVE_UP_AFTER_MS * PATIENCE);
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
