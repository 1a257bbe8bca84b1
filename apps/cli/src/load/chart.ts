import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { failed } from '../shared/command-error.js';
import { count, print } from '../shared/output.js';
import type { LoadOptions } from './options.js';

/** What the profiles write into load/PROFILE.json, as far as the chart shows it. */
interface Results {
  readonly merchants: readonly {
    readonly merchant: string;
    readonly passedWithoutRule: number;
    readonly bounds: readonly Bound[];
    readonly timeline: { readonly stepSeconds: number; readonly passed: number[]; readonly refused: number[] };
  }[];
}

interface Bound {
  readonly limit: string;
  readonly capacity: number;
  readonly refillTokens: number;
  readonly refillIntervalMs: number;
  readonly whole: { readonly fromSeconds: number; readonly toSeconds: number; readonly passed: number; readonly allowed: number } | null;
}

/** Draws the results of a run. The drawing packages are only there where developers work, so they are loaded here. */
export async function drawRun({ profile, users, results }: LoadOptions, file: string): Promise<void> {
  const { merchants } = JSON.parse(readFileSync(join(results, `${profile}.json`), 'utf8')) as Results;
  const { outcomeChart } = await import('#simulation');
  const svg = await outcomeChart(
    {
      title: 'Requests that passed and that were refused',
      subtitle: `npx tollgate load ${profile}, ${users} clients at once; ${merchants[0]?.timeline.stepSeconds} s for each bar`,
      notes: merchants.flatMap(({ merchant, bounds, passedWithoutRule }) => [
        ...bounds.map((bound) => `${merchant}: ${verdict(bound)}`),
        ...(passedWithoutRule > 0
          ? [`${merchant}: ${count(passedWithoutRule)} passed that no rule matched, so that no limit counts them`]
          : []),
      ]),
    },
    merchants[0]?.timeline.stepSeconds ?? 1,
    merchants.map(({ merchant, timeline }) => ({ name: merchant, ...timeline })),
  );
  try {
    writeFileSync(file, svg);
  } catch (error) {
    throw failed(`Cannot write to ${file}: ${(error as Error).message}`);
  }
  print(`\nDrawn: ${file}`);
}

function verdict({ limit, capacity, refillTokens, refillIntervalMs, whole }: Bound): string {
  const numbers = `${limit}: capacity ${count(capacity)}, and ${count(refillTokens)} more each ${count(refillIntervalMs / 1000)} s`;
  if (!whole) return `nothing passed (${numbers})`;
  const seconds = (whole.toSeconds - whole.fromSeconds).toFixed(1);
  return `${count(whole.passed)} passed of at most ${count(Math.floor(whole.allowed))} in ${seconds} s (${numbers})`;
}
