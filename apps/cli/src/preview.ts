import { readFileSync } from 'node:fs';
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
  };
}

const ABOUT = `The file holds one rule, as YAML or JSON, as get rules --json or an export shows it. It is compared with the rules that stand. With --sample
requests are replayed through both: a CSV file with a heading and the columns at (RFC 3339, or milliseconds since 1970), method and path, and where wanted ip and
cost. Nothing is stored.`;

export function command() {
  const faults = new Faults();
  return newCommand('preview', 'Says what a draft of a rule would change before it is stored.')
    .argument('<file>', 'the file with the rule, or -')
    .addOption(merchant())
    .option('--rule <id>', 'the rule that the draft would replace; a new rule unless given', wholeArgument)
    .option('--sample <file>', 'a file of requests that are replayed')
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp(
        [ABOUT, ABOUT_CONNECTION],
        [
          'npx tollgate preview draft.yaml --merchant acme',
          'npx tollgate preview draft.yaml --merchant acme --rule 17 --sample monday.csv',
        ],
      ),
    )
    .action(async (file, { merchant: merchantId, rule: ruleId, sample, json }) => {
      if (merchantId === undefined) faults.add('preview needs --merchant.');
      faults.demandNone();
      const { content: rule, placeOf } = readRulesFile(file);
      const body = { merchantId, ruleId, rule, sample: sample === undefined ? undefined : textOf(sample) };
      const inFile = (pointer: string): string => (pointer.startsWith('/rule') ? placeOf(pointer.slice('/rule'.length)) : pointer);
      const preview = await RulesApi.of(process.env).ask<Preview>('/v1/rules/preview', { method: 'POST', body }, inFile);
      print(json ? JSON.stringify(preview, null, 2) : inWords(preview));
    });
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw notStarted(`${file} cannot be read: ${(error as Error).message}.`);
  }
}

export function inWords({ shadows, shadowedBy, uncovers = [], warnings = [], replay }: Preview): string {
  const list = (rules: readonly unknown[]): string => (rules.length === 0 ? 'no rule' : rules.map(ruleName).join(', '));
  const lines = [`It would always come before: ${list(shadows)}.`, `It would never be asked because of: ${list(shadowedBy)}.`];
  if (uncovers.length > 0) lines.push(`It would uncover: ${list(uncovers)}.`);
  lines.push(...warnings.map(({ pointer, detail }) => `Warning: ${shownValue(pointer)} ${shownValue(detail)}`));
  if (!replay) return lines.join('\n');
  const { requests, refusedNow, refusedThen, byRule, truncated = false } = replay;
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
