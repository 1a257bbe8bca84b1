import { Option } from '@commander-js/extra-typings';
import { readFileSync, writeFileSync } from 'node:fs';
import { readRulesFile } from './api/file.js';
import { asJson, ABOUT_CONNECTION, merchant, wholeArgument } from './api/options.js';
import { RulesApi } from './api/rules-api.js';
import { notStarted } from './shared/command-error.js';
import { afterHelp, newCommand } from './shared/command.js';
import { Faults } from './shared/options.js';
import { count, print } from './shared/output.js';
import { anyTable, shownValue } from './shared/any-table.js';

interface Preview {
  readonly shadows: readonly unknown[];
  readonly shadowedBy: readonly unknown[];
  readonly uncovers?: readonly unknown[];
  readonly warnings?: readonly { readonly pointer: string; readonly detail: string }[];
  readonly replay?: {
    readonly requests: number;
    readonly refusedNow: number;
    readonly refusedThen: number;
    readonly byRule: readonly object[];
    readonly truncated?: boolean;
    readonly stepMs?: number;
    readonly series?: readonly SeriesStep[];
  };
  readonly sample?: {
    readonly from: string;
    readonly to: string;
    readonly recorded: number;
    readonly requests: number;
    readonly weight: { readonly passed: number; readonly refused: number };
  };
}

interface SeriesStep {
  readonly at: string;
  readonly requests: number;
  readonly refusedNow: number;
  readonly refusedThen: number;
}

const ABOUT = `The file holds one rule, as YAML or JSON, as get rules --json or an export shows it. It is compared with the rules that stand. With --sample
requests are replayed through both: a CSV file with a heading and the columns at (RFC 3339, or milliseconds since 1970), method and path, and where wanted ip and
cost. With --recorded it is what gateways have recorded of the merchant within the last day. --chart draws what passes and what is refused, now and then. Nothing is
stored.`;

export function command() {
  const faults = new Faults();
  return newCommand('preview', 'Says what a draft of a rule would change before it is stored.')
    .argument('<file>', 'the file with the rule, or -')
    .addOption(merchant())
    .option('--rule <id>', 'the rule that the draft would replace; a new rule unless given', wholeArgument)
    .option('--sample <file>', 'a file of requests that are replayed')
    .addOption(new Option('--recorded', 'replay what gateways have recorded').conflicts('sample'))
    .option('--chart <file>', 'an SVG file to draw the replay into')
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT, ABOUT_CONNECTION],
        [
          'npx tollgate preview draft.yaml --merchant acme',
          'npx tollgate preview draft.yaml --merchant acme --rule 17 --sample monday.csv',
          'npx tollgate preview draft.yaml --merchant acme --rule 17 --recorded --chart replay.svg',
        ],
      ),
    )
    .action(async (file, { merchant: merchantId, rule: ruleId, sample, recorded, chart, json }) => {
      if (merchantId === undefined) faults.add('preview needs --merchant.');
      if (chart !== undefined && sample === undefined && recorded === undefined) faults.add('--chart needs --sample or --recorded.');
      faults.demandNone();
      const { content: rule, placeOf } = readRulesFile(file);
      const body = { merchantId, ruleId, rule, sample: recorded ? 'recorded' : sample === undefined ? undefined : textOf(sample) };
      const inFile = (pointer: string): string => (pointer.startsWith('/rule') ? placeOf(pointer.slice('/rule'.length)) : pointer);
      const preview = await RulesApi.of(process.env).ask<Preview>('/v1/rules/preview', { method: 'POST', body }, inFile);
      print(json ? JSON.stringify(preview, null, 2) : inWords(preview));
      if (chart !== undefined && preview.replay !== undefined) writeTo(chart, await chartOf(preview.replay, merchantId!));
    });
}

/** What passes and what is refused over time, by the rules that stand and with the draft. */
export async function chartOf(replay: NonNullable<Preview['replay']>, merchantId: string): Promise<string> {
  const { stepMs = 1000, series = [], requests, refusedNow, refusedThen } = replay;
  // Loaded only here: it takes longer than everything else that this command does, and may not be installed.
  const { outcomeChart } = await import('#simulation').catch((error: Error) => {
    throw notStarted(`The chart cannot be drawn: ${error.message}. Vega is among the development dependencies.`);
  });
  const panel = (name: string, refused: (step: SeriesStep) => number) => ({
    name,
    passed: series.map((step) => step.requests - refused(step)),
    refused: series.map(refused),
  });
  const subtitle = `${count(requests)} requests of ${merchantId} from ${series[0]?.at ?? '-'} on; refused now ${count(refusedNow)}, with the draft ${count(refusedThen)}`;
  return outcomeChart({ title: 'What the draft would change', subtitle }, stepMs / 1000, [
    panel('now', (step) => step.refusedNow),
    panel('with the draft', (step) => step.refusedThen),
  ]);
}

function writeTo(file: string, content: string): void {
  try {
    writeFileSync(file, content);
  } catch (error) {
    throw notStarted(`${file} cannot be written: ${(error as Error).message}.`);
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw notStarted(`${file} cannot be read: ${(error as Error).message}.`);
  }
}

export function inWords({ shadows, shadowedBy, uncovers = [], warnings = [], replay, sample }: Preview): string {
  const list = (rules: readonly unknown[]): string => (rules.length === 0 ? 'no rule' : rules.map(ruleName).join(', '));
  const lines = [`It would always come before: ${list(shadows)}.`, `It would never be asked because of: ${list(shadowedBy)}.`];
  if (uncovers.length > 0) lines.push(`It would uncover: ${list(uncovers)}.`);
  lines.push(...warnings.map(({ pointer, detail }) => `Warning: ${shownValue(pointer)} ${shownValue(detail)}`));
  if (!replay) return lines.join('\n');
  const { requests, refusedNow, refusedThen, byRule, truncated = false } = replay;
  if (sample !== undefined) {
    const { from, to, recorded, weight } = sample;
    lines.push(
      `${count(recorded)} recorded requests from ${from} to ${to} stand for ${count(sample.requests)}: one that passed for ${weight.passed}, a refused one for ${weight.refused}.`,
    );
  }
  lines.push(`Of ${count(requests)} requests ${count(refusedNow)} are refused now, and ${count(refusedThen)} would be.`);
  if (truncated) lines.push('The time was up before all requests were replayed.');
  return [...lines, ...(byRule.length === 0 ? [] : ['', anyTable(byRule)])].join('\n');
}

/** A rule is named by its id, by its name or by both. */
function ruleName(rule: unknown): string {
  if (typeof rule !== 'object' || rule === null) return shownValue(rule);
  const { ruleId, id = ruleId, name } = rule as Readonly<Record<string, unknown>>;
  return (
    [id, name]
      .filter((part) => part !== undefined)
      .map(shownValue)
      .join(' ') || shownValue(rule)
  );
}
