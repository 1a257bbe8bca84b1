import { asJson, ABOUT_CONNECTION, bucketsPath, merchant, reason, wholeArgument } from '../api/options.js';
import { reasonHeader, RulesApi } from '../api/rules-api.js';
import { failed } from '../shared/command-error.js';
import { afterHelp, newCommand } from '../shared/command.js';
import { Faults, optionalWholeNumber } from '../shared/options.js';
import { print } from '../shared/output.js';
import { absentPart, keyOf, keyPart } from './key-parts.js';
import { type Bucket, bucketsTable } from './table.js';

/** The bounds are those of the API. */
const MAX_TOKENS = 1_000_000_000;
const MAX_BLOCK_MS = 366 * 86_400_000;

interface Named {
  readonly merchant?: string | undefined;
  readonly rule?: string | undefined;
  readonly limit?: string | undefined;
  readonly ip?: string | undefined;
  readonly method?: string | undefined;
  readonly key?: Readonly<Record<string, string>> | undefined;
  readonly absent?: readonly string[] | undefined;
  readonly reason?: string | undefined;
  readonly json?: true | undefined;
}

/** A command with the options that name a bucket. */
function bucketCommand(name: string, summary: string, examples: readonly string[], faults: Faults) {
  return newCommand(name, summary)
    .addOption(merchant())
    .option('--rule <id>', 'the rule', wholeArgument)
    .option('--limit <name>', 'the limit of the rule, by its name')
    .option('--ip <address>', 'the address of the client, for rules whose key has ip')
    .option('--method <name>', 'the method, for rules whose key has method')
    .addOption(keyPart(faults))
    .addOption(absentPart())
    .addOption(reason())
    .addOption(asJson())
    .addHelpText('after', afterHelp(['Gateways feel it at once, and the audit keeps it.', ABOUT_CONNECTION], examples));
}

async function operate(name: string, options: Named, more: object) {
  const { merchant: merchantId, rule: ruleId, limit, ip, method, key, absent, reason: why, json } = options;
  const request = {
    method: 'POST',
    body: { ruleId, limit, ip, method, key: keyOf(key, absent), ...more },
    headers: reasonHeader(why),
  } as const;
  const { items, failed: notDone } = await RulesApi.of(process.env).ask<Changed>(`${bucketsPath(merchantId!)}/${name}`, request);
  print(json ? JSON.stringify(items, null, 2) : bucketsTable(items));
  if (notDone.length > 0) throw failed(notDone.map(failure).join('\n'));
}

interface Changed {
  readonly items: Bucket[];
  readonly failed: readonly { readonly ruleId: string; readonly limit: string; readonly detail: string }[];
}

const failure = ({ ruleId, limit, detail }: Changed['failed'][number]): string =>
  `Not done for the limit ${limit} of rule ${ruleId}: ${detail}`;

function demandBucket(name: string, options: Named, faults: Faults, needed: readonly ('merchant' | 'rule' | 'limit')[]): void {
  for (const option of needed) if (options[option] === undefined) faults.add(`buckets ${name} needs --${option}.`);
}

const ONE = ['merchant', 'rule', 'limit'] as const;

export function resetCommand() {
  const examples = [
    'npx tollgate buckets reset --merchant acme --reason "ticket OPS-17"',
    'npx tollgate buckets reset --merchant acme --rule 17 --limit burst',
  ];
  const faults = new Faults();
  return bucketCommand('reset', 'Fills one bucket, those of a rule, or all of a merchant.', examples, faults).action(async (options) => {
    demandBucket('reset', options, faults, ['merchant']);
    faults.demandNone();
    await operate('reset', options, {});
  });
}

export function adjustCommand() {
  const faults = new Faults();
  return bucketCommand(
    'adjust',
    'Adds tokens to a bucket, or takes some.',
    [
      'npx tollgate buckets adjust --merchant acme --rule 17 --limit burst --tokens 5 --reason "a refund"',
      'npx tollgate buckets adjust --merchant acme --rule 17 --limit burst --tokens -5',
    ],
    faults,
  )
    .addOption(optionalWholeNumber('--tokens <n>', 'tokens to add, or to take if negative', { min: -MAX_TOKENS, max: MAX_TOKENS }, faults))
    .action(async ({ tokens, ...options }) => {
      demandBucket('adjust', options, faults, ONE);
      if (!tokens) faults.add('buckets adjust needs --tokens, and not 0.');
      faults.demandNone();
      await operate('adjust', options, { tokens });
    });
}

export function blockCommand() {
  const faults = new Faults();
  return bucketCommand(
    'block',
    'Refuses everything behind a bucket for a time.',
    [
      'npx tollgate buckets block --merchant acme --rule 17 --limit burst --for-ms 60000 --reason "an attack"',
      'npx tollgate buckets block --merchant acme --rule 18 --limit burst --key header.x-device-id=abc --for-ms 60000',
    ],
    faults,
  )
    .addOption(optionalWholeNumber('--for-ms <n>', 'for how long, in milliseconds', { min: 1, max: MAX_BLOCK_MS }, faults))
    .action(async ({ forMs, ...options }) => {
      demandBucket('block', options, faults, ONE);
      if (forMs === undefined) faults.add('buckets block needs --for-ms.');
      faults.demandNone();
      await operate('block', options, { forMs });
    });
}

export function unblockCommand() {
  const examples = ['npx tollgate buckets unblock --merchant acme --rule 17 --limit burst'];
  const faults = new Faults();
  return bucketCommand('unblock', 'Ends the block of a bucket.', examples, faults).action(async (options) => {
    demandBucket('unblock', options, faults, ONE);
    faults.demandNone();
    await operate('unblock', options, {});
  });
}
