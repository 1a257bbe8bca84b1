import { createWriteStream, renameSync, rmSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ABOUT_CONNECTION, merchant, select } from './api/options.js';
import { problemIn, RulesApi } from './api/rules-api.js';
import { failed } from './shared/command-error.js';
import { afterHelp, newCommand } from './shared/command.js';
import { Faults, oneOf } from './shared/options.js';

export function command() {
  const faults = new Faults();
  return newCommand('export', 'Writes all merchants, their rules and the default rules as a file, or one merchant.')
    .addOption(merchant())
    .addOption(select(faults))
    .addOption(oneOf('--format <name>', 'the form of the file', ['yaml', 'json'], 'yaml', faults))
    .option('--out <file>', 'the file; the standard output unless given')
    .addHelpText(
      'after',
      afterHelp(
        ['apply takes what export gives. A file that --out names is replaced when the export is complete.', ABOUT_CONNECTION],
        [
          'npx tollgate export --out rules.yaml',
          'npx tollgate export --merchant acme --format json',
          'npx tollgate export --select team=risk',
        ],
      ),
    )
    .action(async ({ merchant: merchantId, select: label, format, out }) => {
      faults.demandNone();
      const answer = await RulesApi.of(process.env).send('/v1/export', { query: { merchant: merchantId, format, select: label } });
      if (!answer.ok || !answer.body) throw failed(`Refused: ${(await problemIn(answer)).detail}.`);
      await save(Readable.fromWeb(answer.body), out);
    });
}

async function save(text: Readable, out: string | undefined): Promise<void> {
  const unfinished = out === undefined ? undefined : `${out}.${process.pid}.unfinished`;
  try {
    if (out === undefined || unfinished === undefined) return await pipeline(text, process.stdout, { end: false });
    await pipeline(text, createWriteStream(unfinished));
    renameSync(unfinished, out);
  } catch (error) {
    if (unfinished !== undefined) rmSync(unfinished, { force: true });
    throw failed(`The export is not complete: ${(error as Error).message}.`);
  }
}
