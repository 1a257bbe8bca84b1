import { InvalidArgumentError } from '@commander-js/extra-typings';
import type { ChainHead, ChainReport } from '#rules-db';
import { asJson } from '../api/options.js';
import { notStarted } from '../shared/command-error.js';
import { afterHelp, newCommand } from '../shared/command.js';
import { count, note, print } from '../shared/output.js';

const ABOUT = `It reads the whole audit and computes its chain of hashes anew. Note the head that it prints where the owner of the database cannot change it: with
--expect a later check finds out whether the chain up to there was written anew.`;

const VARIABLE_HELP = `Variables:\n  DATABASE_URL  PostgreSQL with the rules; a role that may read audit and audit_head`;

/** A chunk of the audit is read in well under a second; a database that is busy may take longer. */
const STATEMENT_TIMEOUT_MS = 60_000;

export function verifyCommand() {
  return newCommand('verify', 'Checks that no row of the audit was altered, removed or added; exit code 1 if one was.')
    .option('--expect <seq:hash>', 'a head that an earlier check has printed', headIn)
    .addOption(asJson())
    .addHelpText(
      'after',
      afterHelp([ABOUT, VARIABLE_HELP], ['npx tollgate audit verify', 'npx tollgate audit verify --expect 1024:9f86d0…']),
    )
    .action(async ({ expect, json }) => {
      const report = await verify(await databaseUrl(process.env), expect);
      print(json ? JSON.stringify(report, null, 2) : inWords(report));
      if (report.faults.length > 0) process.exitCode = 1;
    });
}

function headIn(text: string): ChainHead {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined) throw new InvalidArgumentError('It must be a number, a colon and 64 hexadecimal digits.');
  return { seq: Number(seq), hash };
}

/** The packages that only this command needs are loaded when it runs. */
async function databaseUrl(env: NodeJS.ProcessEnv): Promise<string> {
  const { VARIABLES } = await import('#platform');
  const { name, parse } = VARIABLES.databaseUrl;
  const text = env[name];
  if (!text) throw notStarted(`${name} must say where PostgreSQL with the rules is.`);
  try {
    return parse(text);
  } catch (error) {
    throw notStarted(`${name} is not usable: expected ${(error as Error).message}.`);
  }
}

async function verify(url: string, expected: ChainHead | undefined): Promise<ChainReport> {
  const { createDataSource, verifyAuditChain } = await import('#rules-db');
  const settings = { poolSize: 1, applicationName: 'tollgate-audit-verify', statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  const dataSource = createDataSource(url, settings);
  try {
    await dataSource.initialize();
  } catch (error) {
    throw notStarted(`PostgreSQL does not answer: ${(error as Error).message}.`);
  }
  try {
    const onProgress = (rows: number): void => void (process.stderr.isTTY && process.stderr.write(`\r${count(rows)} rows`));
    return await verifyAuditChain(dataSource, { expected, onProgress });
  } catch (error) {
    throw notStarted(`The audit cannot be read: ${(error as Error).message}.`);
  } finally {
    if (process.stderr.isTTY) note('');
    await dataSource.destroy();
  }
}

function inWords({ rows, head, faults }: ChainReport): string {
  const found = faults.map(({ seq, fault }) => `  place ${seq}: ${fault}`);
  const summary = faults.length === 0 ? 'No row was altered, removed or added.' : 'The audit is not what was written:';
  return [`${count(rows)} rows, head ${head.seq}:${head.hash}`, summary, ...found].join('\n');
}
