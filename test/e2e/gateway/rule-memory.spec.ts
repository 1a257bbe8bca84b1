import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../../scripts/paths.mjs';

/** What merchants take in the heap of a gateway, measured in a process of its own after garbage was collected. */

interface Setting {
  merchants: number;
  own: number;
  defaults: number;
  limits: number;
  requests: number;
  unknown?: boolean;
  deny?: boolean;
}

async function measure(setting: Setting): Promise<{ bytes: number; estimate: number }> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--expose-gc',
    join(ROOT, 'test', 'support', 'rule-memory.mjs'),
    JSON.stringify(setting),
  ]);
  return JSON.parse(stdout) as { bytes: number; estimate: number };
}

const shared = { merchants: 2000, own: 0, defaults: 20, limits: 4 };

const rows: [what: string, setting: Setting, mostBytes: number][] = [
  // So many that what else moves in the heap makes no difference.
  ['an id that nobody created, denied', { ...shared, merchants: 20_000, requests: 1, unknown: true, deny: true }, 450],
  ['an id that nobody created, once, with 20 default rules of 4 limits', { ...shared, requests: 1, unknown: true }, 3_500],
  ['a merchant without own rules, not asked yet, with 20 default rules of 4 limits', { ...shared, requests: 0 }, 700],
  ['the same, asked twice', { ...shared, requests: 2 }, 5_000],
  ['the same, when it has used all of them', { ...shared, merchants: 500, requests: 40 }, 65_000],
  ['a merchant with one rule of one limit', { merchants: 2000, own: 1, defaults: 0, limits: 1, requests: 2 }, 6_000],
  ['a merchant with 20 rules of 4 limits, not asked yet', { merchants: 400, own: 20, defaults: 20, limits: 4, requests: 0 }, 45_000],
  ['the same, when it has used all of them', { merchants: 200, own: 20, defaults: 20, limits: 4, requests: 80 }, 150_000],
];

test.each(rows)(
  '%s: bounded in memory, and the estimate is at most a sixth too small and not three times too large',
  async (_what, setting, mostBytes) => {
    const { bytes, estimate } = await measure(setting);
    expect(bytes).toBeLessThan(mostBytes);
    expect(estimate / bytes).toBeGreaterThan(0.83);
    expect(estimate / bytes).toBeLessThan(3);
  },
);
